// Loads the WebAssembly build of sharp instead of the native one, as on systems that have no native build.
const { createRequire, Module } = require('node:module')
const { join } = require('node:path')

const tools = createRequire(join(__dirname, '../../src/build/tools/package.json'))
const load = Module._load
let loaded = 0
Module._load = function (name, ...rest) {
  if (!/^@img\/sharp-[a-z0-9-]+\/sharp\.node$/.test(name)) return load.call(this, name, ...rest)
  loaded++
  return load.call(this, tools.resolve('@img/sharp-wasm32/sharp.node'), ...rest)
}
process.on('exit', () => {
  if (loaded === 0) process.exitCode = 99
})
