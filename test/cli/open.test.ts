/** @module-tag slow */
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { listRuns } from '../../src/batch/runs/runs.ts'
import { findOpeners } from '../../src/cli/io/browser.ts'
import { CSV, folder, service, TARGET } from './batch/drop.ts'
import { CONTRACT, fakeApi, OWNER, type Reply } from './fake-api.ts'
import { cli, errorOf, tempHome } from './harness.ts'

const ID = '0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d'
const YES = { 'idempotency-supported': 'yes' }

const session =
  (open = true) =>
  (): Reply => ({ headers: YES, body: { version: '0.1.0', open, account: null } })

/** A backend with an explorer; `hits` are its search results by query. */
async function backend(hits: Record<string, object> = {}, isOpen = true) {
  const { url, calls } = await fakeApi({
    '/explorer/session': session(isOpen),
    '*': (_body, { path }) => {
      const requestUrl = new URL(path, 'http://x')
      if (requestUrl.pathname !== '/explorer/search') return { status: 404, body: {} }
      return { body: { exact: hits[requestUrl.searchParams.get('q') ?? ''] ?? null, hits: [] } }
    },
  })
  return { url, calls }
}

/** The output of `gdn open` without a terminal. */
async function opened(what: string[], url: string, options = {}) {
  const { code, stdout, stderr } = await cli(['open', '--base-url', url, '--', ...what], options)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout.startsWith(url), stdout).toBe(true)
  return stdout.slice(url.length, -1)
}

describe('the page that gdn open shows', () => {
  test('is the front page without an argument, regardless of path and query of the server URL', async () => {
    const { url } = await backend()
    expect(await opened([], url)).toBe('/')
    const { stdout } = await cli(['open', '--base-url', `${url}/?key=gdn_abcdefghijklmnop`])
    expect(stdout).toBe(`${url}/\n`)
  })

  test.each([
    ['an NFT', ID, { kind: 'nft', nft: { nft_gdn_id: ID } }, `/nfts/${ID}`],
    ['a collection', ID, { kind: 'collection', collection: { transaction_gdn_id: ID } }, `/collections/${ID}`],
    ['a contract', CONTRACT, { kind: 'collection', collection: { transaction_gdn_id: ID } }, `/collections/${ID}`],
    ['a token', `${CONTRACT}/7`, { kind: 'nft', nft: { nft_gdn_id: ID } }, `/nfts/${ID}`],
    ['an owner', OWNER, { kind: 'owner', address: OWNER }, `/owners/${OWNER}`],
    [
      'a run from another machine',
      'abcd1234abcd1234',
      { kind: 'run', run: { run: 'abcd1234abcd1234' } },
      '/runs/abcd1234abcd1234',
    ],
  ])('of %s is the page that the server returns for it', async (_, what, hit, path) => {
    const { url } = await backend({ [what]: hit })
    expect(await opened([what], url)).toBe(path)
  })

  test.each(['night market', ID])('of any other argument is the search page: %s', async (what) => {
    const { url } = await backend()
    expect(await opened([what], url)).toBe(`/go?q=${encodeURIComponent(what)}`)
  })

  test('is the search page without a lookup if the browser has to log in first', async () => {
    const { url, calls } = await backend({ [ID]: { kind: 'nft', nft: { nft_gdn_id: ID } } }, false)
    expect(await opened([ID], url)).toBe(`/go?q=${ID}`)
    expect(calls.map(({ path }) => path)).toEqual(['/healthz', '/explorer/session'])
  })

  test.each([
    '../../../etc/passwd',
    '..',
    'a b&c=d#e?f/g\\h',
    '"><script>alert(1)</script>',
    '--profile',
    '$(touch /tmp/x) `id`',
    '\u001b]52;c;x\u0007',
    'café \u202e\ud800',
  ])('contains hostile text only as one encoded query value: %j', async (what) => {
    const { url } = await backend()
    const path = await opened([what], url)
    expect(path).toMatch(/^\/go\?q=[\w.!~*'()%-]+$/)
    expect(new URLSearchParams(path.slice(4)).get('q')).toBe(what.toWellFormed())
  })

  test('never has a path chosen by the server', async () => {
    const { url } = await backend({ x: { kind: 'nft', nft: { nft_gdn_id: '../../evil?#' } } })
    expect(await opened(['x'], url)).toBe('/go?q=x')
  })

  test.each([['drop'], ['drop.csv'], ['NAME'], ['ID']])(
    'of a run of this machine is found by its ID: %s',
    async (called) => {
      const { path, options } = await folder({ 'drop.csv': CSV })
      const { createnft, getnfts } = service()
      const { url } = await fakeApi({
        createnft,
        getnfts,
        '/explorer/session': session(),
        '*': () => ({ status: 404, body: { error: { title: 'Not Found', message: 'not here' } } }),
      })
      await cli(['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', url, '--rate', '1000'], options)
      const [run] = await listRuns(join(path('.'), '.local', 'state', 'gdn'))
      const word = called === 'NAME' ? run?.name : called === 'ID' ? run?.id : called
      expect(await opened([word ?? ''], url, options)).toBe(`/runs/${run?.id}`)
    },
  )
})

describe('the server of gdn open', () => {
  test('is rejected with a hint if it has no explorer, as a hosted service', async () => {
    const { url } = await fakeApi({ '*': () => ({ status: 404, body: {} }) })
    const result = await cli(['open', '--json', '--base-url', url])
    expect(result).toMatchObject({ code: 5, stdout: '' })
    expect(errorOf(result)).toMatchObject({ code: 'not_found' })
    expect(errorOf(result).message).toContain('has no web explorer')
    expect(errorOf(result).hint).toContain('gdn open --local')
  })

  test('causes exit code 6 if it returns an error', async () => {
    const { url } = await fakeApi({ '*': () => ({ status: 503, body: {} }) })
    expect(await cli(['open', '--base-url', url])).toMatchObject({ code: 6, stdout: '' })
  })

  test('causes exit code 6 if it is not running, with the command that starts it', async () => {
    const { code, stderr } = await cli(['open', '--local'])
    expect(code).toBe(6)
    expect(stderr).toContain('gdn local start')
    expect(await cli(['open', '--base-url', 'http://127.0.0.1:9'])).toMatchObject({ code: 6, stdout: '' })
  })

  test('receives no API key, and the URL contains none', async () => {
    const { url, calls } = await backend()
    await opened([ID], url, { env: { GDN_API_KEY: 'gdn_test_key_1234567890' } })
    expect(JSON.stringify(calls)).not.toContain('1234567890')
  })
})

describe('the browser', () => {
  /** A browser that records which URL it is asked to open. */
  async function browser(exitCode = 0) {
    const { dir, env } = await tempHome()
    const program = join(dir, 'browser')
    await writeFile(program, `#!/bin/sh\nprintf '%s\\n' "$@" > "${dir}/asked"\nexit ${exitCode}\n`)
    await chmod(program, 0o700)
    const asked = () => readFile(join(dir, 'asked'), 'utf8').catch(() => null)
    return { program, asked, env: { ...env, BROWSER: 'browser', PATH: `${dir}:/usr/bin:/bin` } }
  }

  test('opens the URL on a terminal, and reports it on stderr', async () => {
    const { url } = await backend()
    const { asked, env } = await browser()
    const { code, stdout, stderr } = await cli(['open', 'a b', '--base-url', url], { env, tty: true })
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '', stderr: `Opened ${url}/go?q=a%20b\n` })
    expect(await asked()).toBe(`${url}/go?q=a%20b\n`)
  })

  test.each([
    ['--print', true],
    ['--json', true],
    ['', false],
  ])('does not start with "%s" (a terminal: %s)', async (flag, tty) => {
    const { url } = await backend()
    const { asked, env } = await browser()
    const { stdout } = await cli(['open', ...(flag === '' ? [] : [flag]), '--base-url', url], { env, tty })
    expect(stdout).toContain(url)
    expect(await asked()).toBeNull()
  })

  test('is replaced by the printed URL if it fails, is missing or is set to none', async () => {
    const { url } = await backend()
    const { env } = await browser(1)
    for (const BROWSER of [env.BROWSER, '/no/such/browser', 'none']) {
      const { code, stdout, stderr } = await cli(['open', '--base-url', url], { env: { ...env, BROWSER }, tty: true })
      expect({ code, stdout }).toEqual({ code: 0, stdout: `${url}/\n` })
      expect(stderr).toContain("Couldn't open a browser")
    }
  })

  test('does not receive the API key', async () => {
    const { url } = await backend()
    const { program, asked, env } = await browser()
    await writeFile(program, `#!/bin/sh\nenv > "$(dirname "$0")/asked"\n`)
    await cli(['open', '--base-url', url], { env: { ...env, GDN_API_KEY: 'gdn_test_key_1234567890' }, tty: true })
    expect(await asked()).toContain('PATH=')
    expect(await asked()).not.toContain('1234567890')
  })

  test.each<[string, NodeJS.ProcessEnv, NodeJS.Platform, readonly string[][]]>([
    ['Linux with X11', { DISPLAY: ':0' }, 'linux', [['xdg-open', 'URL']]],
    ['Wayland', { WAYLAND_DISPLAY: 'wayland-0' }, 'linux', [['xdg-open', 'URL']]],
    ['Linux without a display', {}, 'linux', []],
    ['Linux over ssh', { DISPLAY: ':0', SSH_CONNECTION: '1 2 3 4' }, 'linux', []],
    ['macOS over ssh', { SSH_TTY: '/dev/ttys001' }, 'darwin', []],
    ['macOS', {}, 'darwin', [['open', 'URL']]],
    ['Windows', {}, 'win32', [['rundll32', 'url.dll,FileProtocolHandler', 'URL']]],
    [
      'WSL',
      { WSL_DISTRO_NAME: 'Debian' },
      'linux',
      [
        ['wslview', 'URL'],
        ['rundll32.exe', 'url.dll,FileProtocolHandler', 'URL'],
      ],
    ],
    ['Linux with BROWSER over ssh', { BROWSER: 'helper', SSH_TTY: '/dev/pts/1' }, 'linux', [['helper', 'URL']]],
    [
      'Linux with several commands in BROWSER, one with a URL placeholder',
      { BROWSER: 'chromium --app=%s:firefox -P private' },
      'linux',
      [
        ['chromium', '--app=URL'],
        ['firefox', '-P', 'private', 'URL'],
      ],
    ],
  ])('is started with the right commands on %s', (_, env, platform, openers) => {
    expect(findOpeners('URL', env, platform)).toEqual(openers)
  })
})
