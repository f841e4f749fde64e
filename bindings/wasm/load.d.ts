
/** Starts the module. `read` gives the bytes of a file; where there is none, the host has `fetch`. */
export default function init(read?: (url: URL) => BufferSource): Promise<void>;
