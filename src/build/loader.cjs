'use strict'
// Stands at the beginning of the built main file: finds the chunks that pack.mjs packed.
const __chunks = Object.create(null)
const __modules = new Map()

/** What a chunk exports; it runs when it is asked for the first time. */
function __load(file, id) {
  let exports = __modules.get(id)
  if (exports === undefined) {
    if (__chunks[id] === undefined) require(`./${file}`)(__load, __chunks)
    exports = Object.defineProperty({}, '__esModule', { value: true })
    __modules.set(id, exports)
    __chunks[id](exports)
  }
  return exports
}
