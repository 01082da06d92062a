// The program that is embedded in the executable of gdn. All other code is in files next to the executable, so that gdn
// starts as fast as from the package: Node.js caches compiled code only for files.
'use strict'
const { realpathSync } = require('node:fs')
const { createRequire } = require('node:module')

async function launch() {
  const { main } = createRequire(realpathSync(process.execPath))('./dist/main.cjs')
  process.exitCode = await main(process.argv.slice(2))
}

launch().catch((error) => {
  if (error.code !== 'MODULE_NOT_FOUND') throw error
  process.stderr.write(
    'error: files that belong to this executable are missing\n' +
      '  Unpack its archive again and keep its files together. Link the executable instead of copying it.\n',
  )
  process.exitCode = 1
})
