#!/usr/bin/env node
// CommonJS starts faster than ES modules. The syntax is limited to what old versions of Node.js can parse, so that they
// print the message below instead of a syntax error.
'use strict'
const [major, minor] = process.versions.node.split('.').map(Number)

if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`gdn needs Node.js 20.19 or newer; this is ${process.version}.\n`)
  process.exitCode = 1
} else {
  start()
}

async function start() {
  if (!buildIfMissing()) return
  const { main } = require('../dist/main.cjs')
  process.exitCode = await main(process.argv.slice(2))
}

/** Builds a source checkout that was never built. Returns false if that fails. An installed package contains dist. */
function buildIfMissing() {
  const { existsSync } = require('node:fs')
  const { join } = require('node:path')
  const setup = join(__dirname, '..', 'src', 'build', 'setup.mjs')
  if (existsSync(join(__dirname, '..', 'dist', 'main.cjs')) || !existsSync(setup)) return true
  process.stderr.write('gdn is not built yet: building it now\n')
  const { spawnSync } = require('node:child_process')
  const { status } = spawnSync(process.execPath, [setup], { stdio: ['ignore', 2, 2] })
  if (status !== 0) process.exitCode = 1
  return status === 0
}
