import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { Secret } from '../../../src/core/secret.ts'
import { openKeystore } from '../../../src/keystore/open.ts'
import { reserve } from '../../../src/wallet/reservation.ts'
import { filesHolding, spellings } from '../../helpers/leaks.ts'
import { answerOf, type WalletServiceOptions, walletService } from '../../helpers/wallet-service.ts'
import { LIGHT } from '../../keystore/vectors.ts'
import { folder } from '../batch/drop.ts'
import { OWNER } from '../fake-api.ts'
import { type CliOptions, type CliResult, cli, errorOf } from '../harness.ts'

vi.mock(import('../../../src/keystore/limits.ts'), async (original) => ({
  ...(await original()),
  DEFAULT_SCRYPT: { n: 1024, r: 8, p: 1 } as never,
}))

const PASSWORD = 'correct horse'
const OTHER = '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB'
const EMAIL = ['--email', 'me@example.com']

let path: (name: string) => string
let options: CliOptions
let wallets: string

beforeEach(async () => {
  const workFolder = await folder({})
  path = workFolder.path
  options = workFolder.options
  wallets = path('.local/share/gdn/wallets')
  await writeFile(path('pw'), `${PASSWORD}\n`, { mode: 0o600 })
})

const gdn = (argv: string[], more: CliOptions = {}): Promise<CliResult> => cli(argv, { ...options, ...more })

async function generate(service: WalletServiceOptions = {}, flags: string[] = [], more: CliOptions = {}) {
  const walletServer = await walletService(service)
  const at = [
    '--base-url',
    walletServer.url,
    ...EMAIL,
    ...(flags.includes('--password-file') ? [] : ['--password-file', path('pw')]),
  ]
  const result = await gdn(['wallet', 'generate', ...at, ...flags], more)
  return { ...result, service: walletServer }
}

const filesOf = async (dir: string) => (await readdir(dir).catch(() => [])).sort()
const codeOf = ({ stderr }: CliResult) => stderr.split('\n')[0] ?? ''

describe('gdn wallet generate', () => {
  test('stores the key from the service in a keystore, and prints the address', async () => {
    const { code, stdout, stderr, service } = await generate({}, ['--name', 'alice', '--json'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const { address, name, file, ...rest } = JSON.parse(stdout)
    expect({ name, file, rest }).toEqual({ name: 'alice', file: join(wallets, 'alice.json'), rest: {} })
    const opened = await openKeystore(await readFile(file, 'utf8'), new Secret(PASSWORD), file)
    expect(opened.privateKey.reveal()).toBe(`0x${service.keys[0]}`)
    expect(opened.address).toBe(address.toLowerCase())
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect((await stat(wallets)).mode & 0o777).toBe(0o700)
  })

  test('rejects a password shorter than 8 characters before any request; --weak-password accepts it', async () => {
    const short = ['--password-file', '-', '--name', 'a']
    const refused = await generate({}, short, { stdin: 'abc\n' })
    expect({ code: refused.code, asked: refused.service.asked }).toEqual({ code: 2, asked: [] })
    expect(refused.stderr).toContain('must have at least 8 characters')
    expect((await generate({}, [...short, '--weak-password'], { stdin: 'abc\n' })).code).toBe(0)
  })

  test('requests one signed URL, and posts to it once, without a body or the API key', async () => {
    const { service } = await generate({}, ['--valid-for', '24h'])
    expect(service.asked).toEqual([{ email: 'me@example.com', timeout: 1440 }])
    expect(service.calls).toHaveLength(1)
    const [call] = service.calls
    expect(call?.body).toBe('')
    expect(call?.headers).toMatchObject({ 'content-length': '0' })
    expect(call?.headers).not.toHaveProperty('x-api-key')
  })

  test.each([[[]], [['--debug']], [['-o', 'csv']], [['--json']]])(
    'with %j key, password and signature appear in no output and no file',
    async (flags) => {
      const { stdout, stderr, code, service } = await generate({}, flags)
      expect(code).toBe(0)
      const [key = ''] = service.keys
      for (const secret of [...spellings(`0x${key}`), Buffer.from('5161a7e5ec2e7'), Buffer.from(PASSWORD)]) {
        expect(Buffer.from(stdout + stderr).includes(secret)).toBe(false)
      }
      expect(await filesHolding(path(''), `0x${key}`)).toEqual([])
    },
  )

  test('prints the private key with --show-private-key', async () => {
    const { stdout, service } = await generate({}, ['--show-private-key', '--json'])
    expect(JSON.parse(stdout).private_key).toBe(`0x${service.keys[0]}`)
    const some = await generate({}, ['--show-private-key', '--fields', 'private_key', '--json'])
    expect(JSON.parse(some.stdout)).toEqual({ private_key: `0x${some.service.keys[0]}` })
  })

  test('requires --show-private-key for --fields private_key', async () => {
    const { code, service } = await generate({}, ['--fields', 'private_key'])
    expect(code).toBe(2)
    expect(service.asked).toEqual([])
  })

  test('creates several wallets, each with its own signed URL, and prints a list', async () => {
    const { stdout, service } = await generate({}, ['--count', '3', '--name', 'buyer', '--json'])
    const names = JSON.parse(stdout).map(({ name }: { name: string }) => name)
    expect(names).toEqual(['buyer-1', 'buyer-2', 'buyer-3'])
    expect([service.asked.length, service.calls.length, new Set(service.keys).size]).toEqual([3, 3, 3])
    expect(await filesOf(wallets)).toEqual(['buyer-1.json', 'buyer-2.json', 'buyer-3.json'])
  })

  test('prints the finished wallets if one of several fails, and leaves nothing of the others', async () => {
    let calls = 0
    const second: WalletServiceOptions = {
      answer(response, wallet) {
        if (++calls === 2) return void response.destroy()
        response.writeHead(200).end(JSON.stringify(answerOf(wallet)))
      },
    }
    const { code, stdout, stderr, service } = await generate(second, ['--count', '3', '--json'])
    expect(code).toBe(9)
    expect(JSON.parse(stdout).map(({ name }: { name: string }) => name)).toEqual(['wallet-1'])
    expect(JSON.parse(stderr).error.code).toBe('unknown_outcome')
    expect(service.calls).toHaveLength(2)
    expect(await filesOf(wallets)).toEqual(['wallet-1.json'])
  })

  test('uses the next free name if none is given, also beside saved addresses', async () => {
    await gdn(['wallet', 'add', 'wallet-2', OWNER])
    await generate()
    await generate()
    expect(await filesOf(wallets)).toEqual(['wallet-1.json', 'wallet-3.json'])
  })

  test('reads the password from standard input', async () => {
    const { code } = await generate({}, ['--password-file', '-', '--name', 'a'], { stdin: 'from a pipe\n' })
    expect(code).toBe(0)
    const text = await readFile(join(wallets, 'a.json'), 'utf8')
    expect((await openKeystore(text, new Secret('from a pipe'), 'a')).address).toMatch(/^0x/)
  })

  test('reports a lost response with its consequence, and retries nothing', async () => {
    const { code, stdout, stderr, service } = await generate({ answer: (response) => void response.destroy() })
    expect({ code, stdout }).toEqual({ code: 9, stdout: '' })
    expect(stderr).toContain('was lost')
    expect(stderr).toContain('That wallet has no name and no assets.')
    expect(service.calls).toHaveLength(1)
    expect(await filesOf(wallets)).toEqual([])
  })

  test('reports a truncated response as lost', async () => {
    const half: WalletServiceOptions = {
      answer(response, wallet) {
        response.writeHead(200, { 'content-length': '1000' })
        response.write(JSON.stringify(answerOf(wallet)))
        setTimeout(() => response.destroy(), 20)
      },
    }
    const { code, stderr, service } = await generate(half)
    expect(code).toBe(9)
    expect(stderr).not.toContain(service.keys[0])
  })

  test('calls no signed URL on another host, unless GDN_WALLET_URL or wallet_url permits that host', async () => {
    const other = await walletService()
    const elsewhere: WalletServiceOptions = {
      signedUrl: () => `${other.origin}/v1/wallet/create?signature=5161a7e5ec2e7`,
    }
    const refused = await generate(elsewhere)
    expect(refused.code).toBe(6)
    expect(refused.stderr).toContain(`GDN_WALLET_URL=${other.origin}`)
    expect(refused.stderr).not.toContain('5161a7e5ec2e7')
    expect(other.calls).toEqual([])
    const env = { ...options.env, GDN_WALLET_URL: other.origin }
    expect((await generate(elsewhere, [], { env })).code).toBe(0)
    await gdn(['config', 'set', 'wallet_url', other.origin])
    expect((await generate(elsewhere)).code).toBe(0)
    expect(other.calls).toHaveLength(2)
  })

  test('accepts no wallet host from a project file', async () => {
    await writeFile(path('.gdnrc.json'), JSON.stringify({ wallet_url: 'https://evil.example' }))
    const { code, stderr } = await generate()
    expect(code).toBe(2)
    expect(stderr).toContain('wallet_url')
  })
})

describe('gdn wallet generate sends no request', () => {
  const clear = async (flags: string[], more: CliOptions = {}) => {
    const result = await generate({}, flags, more)
    expect(result.service.asked).toEqual([])
    expect((await filesOf(wallets)).filter((file) => file.endsWith('.part'))).toEqual([])
    return result
  }

  test('if the name exists', async () => {
    await generate({}, ['--name', 'alice'])
    await gdn(['wallet', 'add', 'bob', OWNER])
    for (const name of ['alice', '@alice', 'bob']) {
      const { code, stderr } = await clear(['--name', name])
      expect([code, stderr]).toEqual([2, expect.stringContaining('already exists')])
    }
  })

  test('if one of several names exists', async () => {
    await gdn(['wallet', 'add', 'x-2', OWNER])
    expect(await clear(['--name', 'x', '--count', '3'])).toMatchObject({
      ...{ code: 2, stdout: '', stderr: expect.stringContaining('x-2 already exists') },
    })
    expect(await filesOf(wallets)).toEqual([])
  })

  test.each([['../x'], ['a b'], ['Alice'], ['']])('if the name is %j', async (name) => {
    expect(await clear(['--name', name])).toMatchObject({
      ...{ code: 2, stdout: '', stderr: expect.stringContaining('--name') },
    })
    expect(await filesOf(wallets)).toEqual([])
  })

  test.each([['0'], ['-1'], ['1e3'], ['1001'], ['１'], ['']])('if the count is %j', async (count) => {
    const { code, stderr } = await clear([`--count=${count}`])
    expect([code, codeOf({ code, stderr, stdout: '' })]).toEqual([2, expect.stringContaining('--count')])
  })

  test.each([['15'], ['90s'], ['0m'], ['8d'], ['169h'], ['10081m'], ['1.5h'], ['-5m'], ['5M'], ['']])(
    'if the validity is %j',
    async (time) => {
      const { code, stderr } = await clear([`--valid-for=${time}`])
      expect([code, stderr]).toEqual([2, expect.stringContaining('--valid-for')])
    },
  )

  test.each([['me'], ['me@'], [`${'x'.repeat(300)}@example.com`]])('if the email address is %j', async (email) => {
    const { url, asked } = await walletService()
    const result = await gdn(['wallet', 'generate', '--base-url', url, '--email', email, '--password-file', path('pw')])
    expect([result.code, result.stderr]).toEqual([2, expect.stringContaining('email')])
    expect(asked).toEqual([])
  })

  test('if no email address is given', async () => {
    const { url, asked } = await walletService()
    const { code, stderr } = await gdn(['wallet', 'generate', '--base-url', url, '--password-file', path('pw')])
    expect([code, stderr]).toEqual([2, expect.stringContaining('--email')])
    expect(asked).toEqual([])
  })

  test.each([
    ['is empty', '\n', 0o600, 'must not be empty\n  Pass the password as the only line of the file or pipe.'],
    ['is too short', 'abc\n', 0o600, 'must have at least 8 characters\n  Use another password. For a test wallet'],
    [
      'has two lines',
      'a\nb\n',
      0o600,
      'must be one line of text\n  Pass the password as the only line of the file or pipe.',
    ],
    ['is read differently by other wallets', 'cafe\u0301\n', 0o600, 'some wallets encode differently'],
    ['is readable by others', 'secret\n', 0o644, 'chmod 600'],
  ])('if the password file %s', async (_what, text, mode, said) => {
    await writeFile(path('other'), text)
    await chmod(path('other'), mode)
    const { code, stderr } = await clear(['--password-file', path('other')])
    expect([code, stderr]).toEqual([2, expect.stringContaining(said)])
  })

  test('if the password file is missing or is a link, and suggests a pipe', async () => {
    await symlink(path('pw'), path('link'))
    const link = await clear(['--password-file', path('link')])
    expect([link.code, link.stderr]).toEqual([2, expect.stringContaining('--password-file -')])
    const none = await clear(['--password-file', path('none')])
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining("doesn't exist")])
  })

  test('if no password is given off a terminal', async () => {
    const { url, asked } = await walletService()
    expect(await gdn(['wallet', 'generate', '--base-url', url, ...EMAIL], { stdin: '' })).toMatchObject({
      ...{ code: 2, stdout: '', stderr: expect.stringContaining('--password-file') },
    })
    expect(asked).toEqual([])
    expect(await filesOf(wallets)).toEqual([])
  })

  test('if the wallet folder is a link', async () => {
    await mkdir(path('elsewhere'), { mode: 0o700 })
    await mkdir(path('.local/share/gdn'), { recursive: true })
    await symlink(path('elsewhere'), wallets)
    expect((await clear([])).stderr).toContain('symbolic link')
    expect(await filesOf(path('elsewhere'))).toEqual([])
  })

  test('if no API key is saved', async () => {
    const { GDN_API_KEY: _none, ...env } = options.env ?? {}
    expect(await clear([], { env })).toMatchObject({
      ...{ code: 4, stdout: '', stderr: expect.stringContaining('there is no API key') },
    })
  })
})

describe('gdn wallet url', () => {
  test('prints only the signed URL on stdout', async () => {
    const service = await walletService()
    const url = ['wallet', 'url', '--base-url', service.url, ...EMAIL, '--valid-for', '15m']
    const { code, stdout, stderr } = await gdn(url)
    expect(code).toBe(0)
    expect(stdout).toMatch(new RegExp(`^${service.origin}/v1/wallet/create\\?expiry=\\S+\n$`))
    expect(stderr).toContain('Anyone with the URL can use it')
    expect(service.asked).toEqual([{ email: 'me@example.com', timeout: 15 }])
    expect(service.calls).toEqual([])
  })

  test('prints the expiry', async () => {
    const service = await walletService()
    const { stdout } = await gdn(['wallet', 'url', '--base-url', service.url, ...EMAIL, '--valid-for', '7d', '--json'])
    const inDays = (Date.parse(JSON.parse(stdout).expires_at) - Date.now()) / 86_400_000
    expect(Math.round(inDays)).toBe(7)
  })

  test('lets the server choose the validity by default', async () => {
    const service = await walletService()
    await gdn(['wallet', 'url', '--base-url', service.url, ...EMAIL])
    expect(service.asked).toEqual([{ email: 'me@example.com' }])
  })

  test('uses the email address of the profile', async () => {
    const service = await walletService()
    await gdn(['config', 'set', 'email', 'you@example.com'])
    await gdn(['wallet', 'url', '--base-url', service.url])
    expect(service.asked).toEqual([{ email: 'you@example.com' }])
  })

  test('prints the reason of a rejection', async () => {
    const detail = [{ loc: ['body', 'email'], msg: 'is not the one of this account', type: 'value_error' }]
    const body = { errorCode: 'VALIDATION_ERROR', message: 'invalid', detail }
    const service = await walletService({ refuse: { status: 400, body } })
    const { code, stderr } = await gdn(['wallet', 'url', '--base-url', service.url, ...EMAIL])
    expect([code, stderr]).toEqual([5, expect.stringContaining('is not the one of this account')])
  })
})

describe('gdn wallet list', () => {
  test('prints an empty list and exits with 0 at first', async () => {
    expect(await gdn(['wallet', 'list', '--json'])).toEqual({ code: 0, stdout: '[]\n', stderr: '' })
  })

  test('lists wallets and addresses, and explains unusable ones with a fix', async () => {
    await generate({}, ['--name', 'alice'])
    await gdn(['wallet', 'add', 'bob', OWNER.toLowerCase()])
    await writeFile(join(wallets, 'loose.json'), JSON.stringify(LIGHT.json))
    await chmod(join(wallets, 'loose.json'), 0o644)
    await writeFile(join(wallets, 'broken.json'), '{', { mode: 0o600 })
    await writeFile(join(wallets, '.hidden.part'), '', { mode: 0o600 })
    const list = JSON.parse((await gdn(['wallet', 'list', '--json'])).stdout)
    expect(list.map((one: { name: string; kind: string }) => `${one.name} ${one.kind}`)).toEqual([
      'alice keystore',
      'broken keystore',
      'loose keystore',
      'bob address',
    ])
    expect(list[2].error).toContain('chmod 600')
    expect(list[1].address).toBeNull()
    expect(list[3]).toMatchObject({ address: OWNER, file: null })
  })
})

describe('gdn wallet export', () => {
  beforeEach(async () => {
    await mkdir(wallets, { recursive: true, mode: 0o700 })
    await writeFile(join(wallets, 'alice.json'), JSON.stringify({ ...LIGHT.json, address: LIGHT.address }), {
      mode: 0o600,
    })
    await writeFile(path('foo'), 'foo\n', { mode: 0o600 })
  })
  const key = `0x${LIGHT.key}\n`

  test('finds the wallet first, and then prints the command with --to for a path that needs quotes', async () => {
    await writeFile(path('my wallet.json'), JSON.stringify({ ...LIGHT.json, address: LIGHT.address }))
    const { code, stderr } = await gdn(['wallet', 'export', path('my wallet.json')])
    expect(code).toBe(2)
    expect(stderr).toContain(`Run \`gdn wallet export '${path('my wallet.json')}' --to <file>\`.`)
    expect((await gdn(['wallet', 'export', 'nobody'])).stderr).not.toContain('--to <file>')
  })

  test('writes the private key to a new file of mode 600, and nothing of it to the terminal', async () => {
    const argv = [
      'wallet',
      'export',
      '@alice',
      '--format',
      'private-key',
      '--to',
      path('key'),
      '--password-file',
      path('foo'),
    ]
    const { code, stdout, stderr } = await gdn(argv)
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    expect(stderr).not.toContain(LIGHT.key)
    expect(stderr).toContain(`Wrote the unencrypted private key of alice to ${path('key')}.`)
    expect(await readFile(path('key'), 'utf8')).toBe(key)
    expect((await stat(path('key'))).mode & 0o777).toBe(0o600)
  })

  test('prints it with --to -', async () => {
    const argv = ['wallet', 'export', 'alice', '--format', 'private-key', '--to', '-', '--password-file', '-']
    expect(await gdn(argv, { stdin: 'foo\n' })).toMatchObject({ code: 0, stdout: key })
  })

  test('copies the keystore unchanged, without a password', async () => {
    const { code } = await gdn(['wallet', 'export', 'alice', '--to', path('copy.json')])
    expect(code).toBe(0)
    expect(await readFile(path('copy.json'), 'utf8')).toBe(await readFile(join(wallets, 'alice.json'), 'utf8'))
  })

  test('opens any keystore by its path', async () => {
    await writeFile(path('UTC--x'), JSON.stringify(LIGHT.json), { mode: 0o600 })
    const argv = [
      'wallet',
      'export',
      './UTC--x',
      '--format',
      'private-key',
      '--to',
      '-',
      '--password-file',
      path('foo'),
    ]
    expect(await gdn(argv)).toMatchObject({ code: 0, stdout: key })
  })

  test('prints the result as JSON with --json', async () => {
    const argv = ['wallet', 'export', 'alice', '--to', path('copy.json'), '--json']
    const { stdout, stderr } = await gdn(argv)
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toMatchObject({ format: 'keystore', file: path('copy.json') })
  })

  test('overwrites no file, and follows no link', async () => {
    await writeFile(path('mine'), 'mine')
    await symlink(path('not-there'), path('dangling'))
    for (const file of ['mine', 'dangling']) {
      const { code, stderr } = await gdn(['wallet', 'export', 'alice', '--to', path(file)])
      expect([code, stderr]).toEqual([2, expect.stringContaining('already exists')])
    }
    expect(await readFile(path('mine'), 'utf8')).toBe('mine')
    expect(await filesOf(path(''))).not.toContain('not-there')
  })

  test.each([
    [
      'a wrong password',
      ['alice', '--format', 'private-key', '--to', '-', '--password-file', '-'],
      'Use the password that this keystore was created with.',
    ],
    ['a missing --to', ['alice'], '--to'],
    ['an unknown name', ['alcie', '--to', '-'], 'Did you mean @alice?'],
    ['an unknown format', ['alice', '--format', 'hex', '--to', '-'], '--format'],
    ['a missing file', ['./nothing', '--to', '-'], "doesn't exist"],
    ['a file that is not a keystore', ['./pw', '--to', '-'], 'pw'],
    ['the name of an address', ['bob', '--to', '-'], 'whose key is not on this machine'],
  ])('rejects %s, and writes nothing', async (_what, argv, said) => {
    await gdn(['wallet', 'add', 'bob', OWNER])
    const { code, stdout, stderr } = await gdn(['wallet', 'export', ...argv], { stdin: 'wrong\n' })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(said)
  })

  test('decrypts an unexpected response that was saved in place of a wallet', async () => {
    const odd: WalletServiceOptions = {
      answer: (response, { private_key }) => void response.writeHead(200).end(JSON.stringify({ secret: private_key })),
    }
    const { code, stderr, service } = await generate(odd, ['--name', 'odd', '--json'])
    expect(code).toBe(6)
    const { file } = JSON.parse(stderr).error.details
    const exportResult = await gdn(['wallet', 'export', file, '--to', '-', '--password-file', path('pw')])
    expect(JSON.parse(exportResult.stdout)).toEqual({ secret: `0x${service.keys[0]}` })
    expect(JSON.parse((await gdn(['wallet', 'list', '--json'])).stdout)).toHaveLength(1)
  })
})

describe('gdn wallet add and rm', () => {
  test('adds a name for an address with its checksum, and removes it again', async () => {
    expect((await gdn(['wallet', 'add', '@bob', OWNER.toLowerCase()])).stderr).toContain(OWNER)
    expect((await gdn(['wallet', 'add', 'bob', OWNER])).code).toBe(0)
    const secondResult = await gdn(['wallet', 'add', 'bob', OTHER])
    expect([secondResult.code, secondResult.stderr]).toEqual([
      2,
      expect.stringContaining(`@bob already exists: ${OWNER}`),
    ])
    expect(await filesOf(wallets)).toEqual([])
    expect((await gdn(['wallet', 'rm', 'bob', '-o', 'csv'])).stdout).toContain(`bob,${OWNER}`)
    expect((await gdn(['wallet', 'list', '--json'])).stdout).toBe('[]\n')
  })

  test('changes nothing when the same address is added again', async () => {
    for (const input of [OWNER, OWNER.toLowerCase()]) {
      expect(await gdn(['wallet', 'add', 'bob', input])).toMatchObject({ code: 0 })
    }
    expect(JSON.parse((await gdn(['wallet', 'list', '--json'])).stdout)).toHaveLength(1)
  })

  test('adds a Solana address', async () => {
    const solana = '4Nd1mYQzvgV8Vr3Z3nYb7pD6T8K2jF2eqWxY1vC4mQ5R'
    expect((await gdn(['wallet', 'add', 'sol', solana, '--json'])).stdout).toContain(solana)
  })

  test.each([
    ['bob', OWNER.replace('f', 'F'), 'checksum'],
    ['bob', '0x12', '40 hex digits'],
    ['bob', '0x0000000000000000000000000000000000000000', 'zero address'],
    ['bob', '@alice', 'Solana'],
    ['bob', '', 'address'],
    ['Bob', OWNER, '@bob'],
    ['../bob', OWNER, 'name of a wallet'],
  ])('rejects %s for %s', async (name, address, said) => {
    const { code, stderr } = await gdn(['wallet', 'add', name, address])
    expect([code, stderr]).toEqual([2, expect.stringContaining(said)])
    expect((await gdn(['wallet', 'list', '--json'])).stdout).toBe('[]\n')
  })

  test('adds no name of a keystore', async () => {
    await generate({}, ['--name', 'alice'])
    const { code, stderr } = await gdn(['wallet', 'add', 'alice', OWNER])
    expect([code, stderr]).toEqual([2, expect.stringContaining('@alice already exists: /')])
    expect(JSON.parse((await gdn(['wallet', 'list', '--json'])).stdout)).toHaveLength(1)
  })

  test('adds no name that a wallet is being generated for', async () => {
    const reservation = await reserve(wallets, 'alice')
    const { code, stderr } = await gdn(['wallet', 'add', 'alice', OWNER])
    expect([code, stderr]).toEqual([2, expect.stringContaining(`is creating @alice (pid ${process.pid})`)])
    await reservation.release()
    expect((await gdn(['wallet', 'add', 'alice', OWNER])).code).toBe(0)
  })

  test('adds a name that a killed process reserved, unless the process had written the keystore', async () => {
    await mkdir(wallets, { recursive: true, mode: 0o700 })
    const ended = JSON.stringify({ reserved_by: { pid: 2 ** 22 + 1, startedAt: '1', bootId: 'x' } })
    await writeFile(join(wallets, '.bob.part'), ended, { mode: 0o600 })
    expect((await gdn(['wallet', 'add', 'bob', OWNER])).code).toBe(0)
    const keystore = JSON.stringify({ ...LIGHT.json, address: LIGHT.address })
    await writeFile(join(wallets, '.alice.part'), keystore, { mode: 0o600 })
    expect((await gdn(['wallet', 'add', 'alice', OWNER])).code).toBe(2)
    expect(await filesOf(wallets)).toEqual(['alice.json'])
  })

  test('save names in the state directory that a flag names', async () => {
    const there = ['--state-dir', path('there')]
    await gdn(['wallet', 'add', 'bob', OWNER, ...there])
    const template = ['batch', 'template', '--receiver', '@bob']
    expect((await gdn([...template, ...there])).stdout).toContain(OWNER)
    expect((await gdn(template)).stderr).toContain('@bob is not the name of a wallet')
    expect((await gdn(['wallet', 'rm', 'bob', ...there])).code).toBe(0)
  })

  test('never deletes a keystore', async () => {
    await generate({}, ['--name', 'alice'])
    const { code, stderr } = await gdn(['wallet', 'rm', 'alice'])
    expect([code, stderr]).toEqual([2, expect.stringContaining('gdn never deletes keys')])
    expect(await filesOf(wallets)).toEqual(['alice.json'])
  })

  test('suggests the nearest name for an unknown one', async () => {
    await gdn(['wallet', 'add', 'bob', OWNER])
    expect(errorOf(await gdn(['wallet', 'rm', 'bobb', '--json']))).toMatchObject({
      code: 'not_found_locally',
      hint: 'Did you mean @bob?',
    })
  })
})
