
/** Starts the module. `read` gives the bytes of a file; without `read`, files come by `fetch`. */
export default function init(read?: (url: URL) => BufferSource): Promise<void>;
