// Embedded in the executable of gdn, as its whole program. Everything else is in files beside it, so that it starts as
// fast as the package does: Node.js keeps compiled code only of files.
'use strict'
const { realpathSync } = require('node:fs')
const { createRequire } = require('node:module')

const { main } = createRequire(realpathSync(process.execPath))('./dist/main.cjs')
main(process.argv.slice(2)).then((code) => {
  process.exitCode = code
})
