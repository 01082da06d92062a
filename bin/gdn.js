#!/usr/bin/env node
// Written for any Node that knows ES modules: an old one gets a sentence instead of a syntax error.
const [major, minor] = process.versions.node.split('.').map(Number)

if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`gdn needs Node 20.19 or newer; this is ${process.version}.\n`)
  process.exitCode = 1
} else {
  start()
}

async function start() {
  const { enableCompileCache } = process.getBuiltinModule('node:module')
  if (enableCompileCache) enableCompileCache()
  if (!buildIfMissing()) return
  const { main } = await import('../dist/main.js')
  process.exitCode = await main(process.argv.slice(2))
}

/** A source checkout that was never built builds itself; an installed package always has its dist. */
function buildIfMissing() {
  const { existsSync } = process.getBuiltinModule('node:fs')
  const setup = new URL('../src/build/setup.mjs', import.meta.url)
  if (existsSync(new URL('../dist/main.js', import.meta.url)) || !existsSync(setup)) return true
  process.stderr.write('gdn is not built yet: building it once\n')
  const { spawnSync } = process.getBuiltinModule('node:child_process')
  const { fileURLToPath } = process.getBuiltinModule('node:url')
  const { status } = spawnSync(process.execPath, [fileURLToPath(setup)], { stdio: ['ignore', 2, 2] })
  if (status !== 0) process.exitCode = 1
  return status === 0
}
