// A smoke test of the built gdn, for systems on which the test suite doesn't run. Tests a drop, a wallet, an edited row
// and MCP in an empty home directory.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from './paths.mjs'

const WALLET = '0x105BA2A3D820926739b9443a81fb7ab5C531e823'
const home = await mkdtemp(join(tmpdir(), 'gdn-smoke-'))
const env = { ...process.env, HOME: home, USERPROFILE: home, LOCALAPPDATA: home, APPDATA: home, GDN_KEYRING: 'off' }

/**
 * Runs gdn with text on standard input. Closes standard input when the output matches `answer`. Returns the output.
 * Rejects if gdn fails.
 */
function gdn(args, input = '', answer = /^/) {
  return new Promise((resolve, reject) => {
    const options = { cwd: home, env, stdio: ['pipe', 'pipe', 'inherit'] }
    const child = spawn(process.execPath, [join(root, 'bin', 'gdn.js'), ...args], options)
    let output = ''
    const look = () => answer.test(output) && child.stdin.end()
    child.stdout.setEncoding('utf8').on('data', (text) => {
      output += text
      look()
    })
    child.stdin.write(input)
    look()
    child.once('error', reject)
    child.once('close', (code) => {
      if (code === 0) resolve(output.trim())
      else reject(new Error(`gdn ${args.join(' ')} exited with ${code}: ${output}`))
    })
  })
}

const json = async (...args) => JSON.parse(await gdn([...args, '--json']))

try {
  await json('doctor')
  await json('local', 'start')
  const target = ['--local', '-b', 'polygon']
  const { contract_address: contract } = await json(
    ...['collection', 'create', ...target, '--name', 'Tide', '--wallet', WALLET, '--dynamic'],
  )
  const manifest = join(home, 'drop.csv')
  const rows = (title) => `id,title,description,receiver\na,${title},first,${WALLET}\nb,Dusk,second,${WALLET}\n`
  await writeFile(manifest, rows('Dawn'))
  await json('batch', 'mint', manifest, ...target, '-c', contract, '--dynamic')
  await writeFile(manifest, rows('Noon'))
  await gdn(['apply', manifest, ...target, '-c', contract])
  const nfts = await json('nft', 'list', ...target, '-c', contract)
  assert.deepEqual(nfts.map((nft) => nft.request_metadata.title).sort(), ['Dusk', 'Noon'])

  await writeFile(join(home, 'password'), 'a password of this test', { mode: 0o600 })
  const wallet = await json('wallet', 'generate', '--offline', '--name', 'alice', '--password-file', 'password')
  assert.match(JSON.stringify(wallet), /0x[0-9a-fA-F]{40}/)

  const client = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'smoke', version: '1' } }
  const messages = [
    { jsonrpc: '2.0', id: 1, method: 'initialize', params: client },
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', id: 2, method: 'tools/list' },
  ]
  const input = messages.map((message) => `${JSON.stringify(message)}\n`).join('')
  assert.match(await gdn(['mcp', '--local'], input, /"id":2.*\n/), /"name":"nft_list"/)
  process.stdout.write('a drop, an edited row, a wallet and MCP work here\n')
} finally {
  await gdn(['local', 'stop']).catch(() => {})
  await rm(home, { recursive: true, force: true, maxRetries: 5 })
}
