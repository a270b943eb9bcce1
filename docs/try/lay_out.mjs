// Lays out Python for the "Try it" page: node lay_out.mjs PYODIDE PLACE FOLDER...
// Python in WebAssembly packs the modules that the page loads from its library and the folders.
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";

const [npm, place, ...folders] = process.argv.slice(2);
const { loadPyodide } = await import(`${npm}/pyodide.mjs`);
const lockFileContents = { info: { abi_version: "2026_0" }, packages: {} };
const pyodide = await loadPyodide({ lockFileContents });
folders.forEach((folder, at) => pyodide.mountNodeFS(`/${at}`, folder));
pyodide.runPython(readFileSync(new URL("pack.py", import.meta.url), "utf8"));
writeFileSync(`${place}/python_stdlib.zip`, pyodide.FS.readFile("/packed.zip"));
for (const name of ["pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm"])
  copyFileSync(`${npm}/${name}`, `${place}/${name}`);
