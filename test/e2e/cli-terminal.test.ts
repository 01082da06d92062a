/** @module-tag slow */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { openStore } from '../../src/server/store/open-store.ts'
import { CSV } from '../cli/batch/drop.ts'
import { gate } from '../helpers/gate.ts'
import { makeHome } from '../helpers/gdn.ts'
import { atTerminal, CTRL_C, HAS_PTY, HIDE_CURSOR, SHOW_CURSOR } from '../helpers/terminal.ts'

beforeEach(({ skip }) => skip(!HAS_PTY, 'needs a pseudo-terminal: script of util-linux is not installed'))

async function homeWithPreview() {
  const home = await makeHome()
  onTestFinished(() => home.remove())
  const preview = join(home.dir, 'drop-preview.html')
  await writeFile(join(home.dir, 'drop.csv'), CSV)
  await writeFile(preview, 'mine')
  const line = `batch preview '${join(home.dir, 'drop.csv')}' --to '${preview}' -b polygon`
  return { home, line, isKept: async () => (await readFile(preview, 'utf8')) === 'mine' }
}

describe('a prompt on a terminal', () => {
  test.each([
    ['y', 'y\r', 0, false],
    ['n', 'n\r', 3, true],
    ['only Enter', '\r', 3, true],
    ['Ctrl-C', CTRL_C, 3, true],
  ])('handles the answer %s', async (_, keys, code, kept) => {
    const { home, line, isKept } = await homeWithPreview()
    const terminal = atTerminal(line, home.env)
    await terminal.shows('Overwrite it?')
    terminal.type(keys)
    const { code: ended, screen } = await terminal.end()
    expect(ended, screen).toBe(code)
    expect(await isKept()).toBe(kept)
    expect(screen.lastIndexOf(SHOW_CURSOR)).toBeGreaterThanOrEqual(screen.lastIndexOf(HIDE_CURSOR))
  })

  test.each([
    ['--no-input', {}],
    ['', { CI: '1' }],
    ['', { GDN_NO_INPUT: '1' }],
  ])('is skipped with "%s" and %j', async (flag, more) => {
    const { home, line, isKept } = await homeWithPreview()
    const { code, screen } = await atTerminal(`${line} ${flag}`, { ...home.env, ...more }).end()
    expect(code).toBe(3)
    expect(screen).toContain('--force')
    expect(await isKept()).toBe(true)
  })
})

describe('gdn local reset', () => {
  async function homeWithBackend() {
    const home = await makeHome()
    onTestFinished(() => home.remove())
    const data = join(home.dir, 'data', 'gdn', 'local')
    await mkdir(data, { recursive: true })
    await writeFile(join(data, 'api-key'), 'x')
    await (await openStore(join(data, 'gdn.db'))).close()
    return { home, isThere: () => existsSync(data) }
  }

  test.each([
    ['the name', 'local\r', 0, false],
    ['yes', 'yes\r', 3, true],
    ['only Enter', '\r', 3, true],
    ['Ctrl-C', CTRL_C, 3, true],
  ])('says what is lost, and handles %s as the answer', async (_, keys, code, isKept) => {
    const { home, isThere } = await homeWithBackend()
    const terminal = atTerminal('local reset', home.env)
    await terminal.shows('Type "local" to delete')
    terminal.type(keys)
    const { code: ended, screen } = await terminal.end()
    expect(ended, screen).toBe(code)
    expect(screen).toContain('This deletes 0 collections and 0 NFTs')
    expect(isThere()).toBe(isKept)
  })
})

describe('a long table', () => {
  async function tableIn(pager: string) {
    const home = await makeHome()
    onTestFinished(() => home.remove())
    await mkdir(join(home.dir, 'config', 'gdn'), { recursive: true })
    const profiles = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`shop-${i}`, {}]))
    await writeFile(join(home.dir, 'config', 'gdn', 'config.json'), JSON.stringify({ profiles }))
    return atTerminal('config list --profiles', { ...home.env, PAGER: pager }, '/dev/tty')
  }

  test('is shown in less until the user leaves it', async ({ skip }) => {
    skip(spawnSync('less', ['--version']).error !== undefined, 'less is not installed')
    const terminal = await tableIn('less')
    await terminal.shows('shop-20')
    await terminal.showsNow(':')
    terminal.type(' ')
    await terminal.showsNow('shop-41')
    terminal.type('q')
    const { code, screen } = await terminal.end()
    expect(code, screen).toBe(0)
    expect(screen).not.toContain('shop-59')
  })

  // Not in less: it ignores a Ctrl-C between its prompt and its next read until a key is pressed.
  test('leaves Ctrl-C to the pager, also the second one, which otherwise ends gdn at once', async () => {
    const scratch = await makeHome()
    onTestFinished(() => scratch.remove())
    const pager = join(scratch.dir, 'pager.mjs')
    await writeFile(
      pager,
      `let count = 0
      const lives = setInterval(() => {}, 60_000)
      process.on('SIGINT', () => {
        console.log('interrupt ' + ++count)
        if (count === 2) clearInterval(lives)
      })
      console.log('pager is ready')`,
    )
    const terminal = await tableIn(`"${process.execPath}" "${pager}"`)
    await terminal.shows('pager is ready')
    terminal.type(CTRL_C)
    await terminal.shows('interrupt 1')
    terminal.type(CTRL_C)
    const { code, screen } = await terminal.end()
    expect(code, screen).toBe(0)
    expect(screen).toContain('interrupt 2')
  })
})

describe('waiting on a terminal', () => {
  /** A server whose NFT becomes deployed when the test says so. */
  async function slowServer(more: object = {}) {
    let status = 'initiated'
    const server = createServer((_request, response) => {
      const nft = {
        nft_gdn_id: 'a',
        contract_address: 'c',
        receiver_wallet_address: 'w',
        status,
        request_metadata: {},
        ...more,
      }
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ requests: { nft_gdn_ids: ['a'] }, nfts: [nft] }))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const deploy = () => {
      status = 'deployed'
    }
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, deploy }
  }

  test('a spinner turns on stderr and is erased; stdout contains only the data', async () => {
    const home = await makeHome()
    onTestFinished(() => home.remove())
    const { url, deploy } = await slowServer()
    const out = join(home.dir, 'out')
    const terminal = atTerminal(`nft wait a -o ids --base-url ${url}`, { ...home.env, GDN_API_KEY: 'k' }, out)
    await terminal.shows('0 done, 1 to go')
    deploy()
    const { code, screen } = await terminal.end()
    expect(code, screen).toBe(0)
    expect(await readFile(out, 'utf8')).toBe('a\n')
    expect(screen).toContain(HIDE_CURSOR)
    expect(screen.lastIndexOf(SHOW_CURSOR)).toBeGreaterThan(screen.lastIndexOf(HIDE_CURSOR))
    // Moves to the first column, and erases the line.
    expect(screen.slice(screen.lastIndexOf('to go'))).toMatch(/^to go.*\u001b\[1?G\u001b\[[02]?K/s)
  })

  test.each([
    ['nft show a'],
    ['nft list -c 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed -b polygon'],
    ['collection show c'],
    ['api getnfts -f request.json'],
  ])('gdn %s shows the server while its response takes long', async (line) => {
    const home = await makeHome()
    onTestFinished(() => home.remove())
    await writeFile(join(home.dir, 'request.json'), '{"nft_gdn_ids":["a"]}')
    const responding = gate()
    const server = createServer(async (_request, response) => {
      await responding.pass()
      response.writeHead(404, { 'content-type': 'application/json' })
      response.end('{"error":{"title":"Not Found","message":"not here"}}')
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const typed = line.replace('request.json', `'${join(home.dir, 'request.json')}'`)
    const terminal = atTerminal(`${typed} --base-url ${url}`, { ...home.env, GDN_API_KEY: 'k' })
    await terminal.shows(`Waiting for ${url}`)
    responding.open()
    const { code, screen } = await terminal.end()
    expect(code, screen).toBe(5)
    expect(screen.lastIndexOf(SHOW_CURSOR)).toBeGreaterThan(screen.lastIndexOf(HIDE_CURSOR))
  })

  test('the spinner shows why the server keeps an NFT pending, without control characters', async () => {
    const home = await makeHome()
    onTestFinished(() => home.remove())
    const reason = 'x.png: no answer\u001b]0;evil\u0007'
    const { url, deploy } = await slowServer({ pending_reason: reason })
    const terminal = atTerminal(`nft wait a --base-url ${url}`, { ...home.env, GDN_API_KEY: 'k' })
    await terminal.shows('1 to go: x.png: no answer')
    deploy()
    const { code, screen } = await terminal.end()
    expect(code, screen).toBe(0)
    expect(screen).not.toContain('\u0007')
  })

  test('Ctrl-C exits with 130 and shows the cursor again', async () => {
    const home = await makeHome()
    onTestFinished(() => home.remove())
    const { url } = await slowServer()
    const terminal = atTerminal(`nft wait a --base-url ${url}`, { ...home.env, GDN_API_KEY: 'k' })
    await terminal.shows('0 done, 1 to go')
    terminal.type(CTRL_C)
    const { code, screen } = await terminal.end()
    expect(code, screen).toBe(130)
    expect(screen.lastIndexOf(SHOW_CURSOR)).toBeGreaterThan(screen.lastIndexOf(HIDE_CURSOR))
  })
})
