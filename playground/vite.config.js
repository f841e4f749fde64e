import { defineConfig } from 'vite';

export default defineConfig({
    // The page may be in any folder of a host.
    base: './',
    build: { target: 'es2022', assetsInlineLimit: 0, modulePreload: { polyfill: false } },
    worker: { format: 'es' },
    // The costs and the module for WebAssembly.
    server: { fs: { allow: ['..'] } },
});
