import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { listRuns } from '../../src/batch/runs.ts'
import { openersOf } from '../../src/cli/io/browser.ts'
import { CSV, folder, service, TARGET } from './drop.ts'
import { CONTRACT, fakeApi, OWNER, type Reply } from './fake-api.ts'
import { cli, errorOf, tempHome } from './harness.ts'

const ID = '0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d'
const YES = { 'idempotency-supported': 'yes' }

const session =
  (open = true) =>
  (): Reply => ({ headers: YES, body: { version: '0.1.0', open, account: null } })

/** A backend with an explorer; `hits` by what is searched for. */
async function backend(hits: Record<string, object> = {}, isOpen = true) {
  const { url, calls } = await fakeApi({
    '/explorer/session': session(isOpen),
    '*': (_body, { path }) => {
      const asked = new URL(path, 'http://x')
      if (asked.pathname !== '/explorer/search') return { status: 404, body: {} }
      return { body: { exact: hits[asked.searchParams.get('q') ?? ''] ?? null, hits: [] } }
    },
  })
  return { url, calls }
}

/** What `gdn open` prints off a terminal. */
async function opened(what: string[], url: string, options = {}) {
  const { code, stdout, stderr } = await cli(['open', '--base-url', url, '--', ...what], options)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout.startsWith(url), stdout).toBe(true)
  return stdout.slice(url.length, -1)
}

describe('the page', () => {
  test('without an argument it is the front page, whatever stands behind the address of the server', async () => {
    const { url } = await backend()
    expect(await opened([], url)).toBe('/')
    const { stdout } = await cli(['open', '--base-url', `${url}/?key=gdn_abcdefghijklmnop`])
    expect(stdout).toBe(`${url}/\n`)
  })

  test.each([
    ['an NFT', ID, { kind: 'nft', nft: { nft_gdn_id: ID } }, `/nfts/${ID}`],
    ['a collection', ID, { kind: 'collection', collection: { transaction_gdn_id: ID } }, `/collections/${ID}`],
    ['a contract', CONTRACT, { kind: 'collection', collection: { transaction_gdn_id: ID } }, `/collections/${ID}`],
    ['an owner', OWNER, { kind: 'owner', address: OWNER }, `/owners/${OWNER}`],
    [
      'a run of another machine',
      'abcd1234abcd1234',
      { kind: 'run', run: { run: 'abcd1234abcd1234' } },
      '/runs/abcd1234abcd1234',
    ],
  ])('of %s is the one that the server names for it', async (_, what, hit, path) => {
    const { url } = await backend({ [what]: hit })
    expect(await opened([what], url)).toBe(path)
  })

  test.each(['night market', ID])('of anything else is the search for it: %s', async (what) => {
    const { url } = await backend()
    expect(await opened([what], url)).toBe(`/go?q=${encodeURIComponent(what)}`)
  })

  test('where the browser has to log in first, nothing is looked up before', async () => {
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
  ])('hostile text is one encoded value: %j', async (what) => {
    const { url } = await backend()
    const path = await opened([what], url)
    expect(path).toMatch(/^\/go\?q=[\w.!~*'()%-]+$/)
    expect(new URLSearchParams(path.slice(4)).get('q')).toBe(what.toWellFormed())
  })

  test('what the server calls a hit is no path of its choice', async () => {
    const { url } = await backend({ x: { kind: 'nft', nft: { nft_gdn_id: '../../evil?#' } } })
    expect(await opened(['x'], url)).toBe('/go?q=x')
  })

  test.each([['drop'], ['drop.csv'], ['NAME'], ['ID']])('of a run of this machine is its id: %s', async (called) => {
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
  })
})

describe('the server', () => {
  test('a hosted one has no explorer, and what does is named', async () => {
    const { url } = await fakeApi({ '*': () => ({ status: 404, body: {} }) })
    const result = await cli(['open', '--json', '--base-url', url])
    expect(result).toMatchObject({ code: 5, stdout: '' })
    expect(errorOf(result)).toMatchObject({ code: 'not_found' })
    expect(errorOf(result).message).toContain('it is not a gdn backend')
    expect(errorOf(result).hint).toContain('gdn open --local')
  })

  test('a backend without an explorer is its version is too old', async () => {
    const { url } = await fakeApi({ '*': () => ({ status: 404, headers: YES, body: {} }) })
    const result = await cli(['open', '--json', '--base-url', url])
    expect(result.code).toBe(5)
    expect(errorOf(result).message).toContain('its version is too old')
  })

  test('one that fails is not taken for a hosted one', async () => {
    const { url } = await fakeApi({ '*': () => ({ status: 503, body: {} }) })
    expect(await cli(['open', '--base-url', url])).toMatchObject({ code: 6, stdout: '' })
  })

  test('that does not run is exit code 6, with the command that starts it', async () => {
    const { code, stderr } = await cli(['open', '--local'])
    expect(code).toBe(6)
    expect(stderr).toContain('gdn local start')
    expect(await cli(['open', '--base-url', 'http://127.0.0.1:9'])).toMatchObject({ code: 6, stdout: '' })
  })

  test('no key is sent, and none stands in the URL', async () => {
    const { url, calls } = await backend()
    await opened([ID], url, { env: { GDN_API_KEY: 'gdn_test_key_1234567890' } })
    expect(JSON.stringify(calls)).not.toContain('1234567890')
  })
})

describe('the browser', () => {
  /** A browser that writes down what it is asked to open. */
  async function browser(exitCode = 0) {
    const { dir, env } = await tempHome()
    const program = join(dir, 'browser')
    await writeFile(program, `#!/bin/sh\nprintf '%s\\n' "$@" > "${dir}/asked"\nexit ${exitCode}\n`)
    await chmod(program, 0o700)
    const asked = () => readFile(join(dir, 'asked'), 'utf8').catch(() => null)
    return { program, asked, env: { ...env, BROWSER: program, PATH: '/usr/bin:/bin' } }
  }

  test('at a terminal it opens the URL, and says so on stderr', async () => {
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
  ])('with "%s" (a terminal: %s) nothing is opened', async (flag, tty) => {
    const { url } = await backend()
    const { asked, env } = await browser()
    const { stdout } = await cli(['open', ...(flag === '' ? [] : [flag]), '--base-url', url], { env, tty })
    expect(stdout).toContain(url)
    expect(await asked()).toBeNull()
  })

  test('one that fails, is missing or is none leaves the URL to the person', async () => {
    const { url } = await backend()
    const { env } = await browser(1)
    for (const BROWSER of [env.BROWSER, '/no/such/browser', 'none']) {
      const { code, stdout, stderr } = await cli(['open', '--base-url', url], { env: { ...env, BROWSER }, tty: true })
      expect({ code, stdout }).toEqual({ code: 0, stdout: `${url}/\n` })
      expect(stderr).toContain('no browser')
    }
  })

  test('it is not told the API key', async () => {
    const { url } = await backend()
    const { program, asked, env } = await browser()
    await writeFile(program, `#!/bin/sh\nenv > "$(dirname "$0")/asked"\n`)
    await cli(['open', '--base-url', url], { env: { ...env, GDN_API_KEY: 'gdn_test_key_1234567890' }, tty: true })
    expect(await asked()).toContain('PATH=')
    expect(await asked()).not.toContain('1234567890')
  })

  test.each<[string, NodeJS.ProcessEnv, NodeJS.Platform, readonly string[][]]>([
    ['Linux with a screen', { DISPLAY: ':0' }, 'linux', [['xdg-open', 'URL']]],
    ['Wayland', { WAYLAND_DISPLAY: 'wayland-0' }, 'linux', [['xdg-open', 'URL']]],
    ['no screen', {}, 'linux', []],
    ['ssh, whose screen is elsewhere', { DISPLAY: ':0', SSH_CONNECTION: '1 2 3 4' }, 'linux', []],
    ['ssh to a Mac', { SSH_TTY: '/dev/ttys001' }, 'darwin', []],
    ['a Mac', {}, 'darwin', [['open', 'URL']]],
    ['Windows', {}, 'win32', [['rundll32', 'url.dll,FileProtocolHandler', 'URL']]],
    [
      'Linux within Windows',
      { WSL_DISTRO_NAME: 'Debian' },
      'linux',
      [
        ['wslview', 'URL'],
        ['rundll32.exe', 'url.dll,FileProtocolHandler', 'URL'],
      ],
    ],
    ['BROWSER over ssh', { BROWSER: 'helper', SSH_TTY: '/dev/pts/1' }, 'linux', [['helper', 'URL']]],
    [
      'several in BROWSER, one with a place for the address',
      { BROWSER: 'chromium --app=%s:firefox -P private' },
      'linux',
      [
        ['chromium', '--app=URL'],
        ['firefox', '-P', 'private', 'URL'],
      ],
    ],
  ])('on %s', (_, env, platform, openers) => {
    expect(openersOf('URL', env, platform)).toEqual(openers)
  })
})
