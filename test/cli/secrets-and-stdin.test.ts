import { beforeEach, expect, test, vi } from 'vitest'
import type { CommandTree } from '../../src/cli/command-tree.ts'
import { PASSWORD } from '../helpers/keystore-file.ts'
import { CSV, folder, TARGET } from './batch/drop.ts'
import { SCENARIOS, type Scenario } from './contract/scenarios.ts'
import { CONTRACT, OWNER } from './fake-api.ts'
import { cli, tempHome } from './harness.ts'

// Keystores with the default cost would take seconds.
vi.mock(import('../../src/keystore/limits.ts'), async (original) => ({
  ...(await original()),
  DEFAULT_SCRYPT: { n: 1024, r: 8, p: 1 } as never,
}))

let tree: CommandTree
beforeEach(async () => {
  tree = JSON.parse((await cli(['help', '--json'])).stdout)
})

test('no flag or argument takes a secret: it is a file, standard input or a variable', () => {
  const named = tree.commands.flatMap(({ name, flags, arguments: args }) =>
    [...flags, ...args].map((one) => ({ what: `${name} ${one.name}`, type: one.type })),
  )
  const secrets = named.filter(({ what }) =>
    /key|password|secret|token|phrase|credential|auth\b/i.test(what.split(' ').at(-1) ?? ''),
  )
  const values = secrets.filter(({ type }) => type !== 'file' && (type as string) !== 'boolean').map(({ what }) => what)
  // An ID, a public key of metadata, and a random key that only makes a request repeatable.
  const marker = ['batch mint --marker-key', 'batch rehearse --marker-key']
  expect(values.sort()).toEqual([
    'api --idempotency-key',
    ...marker,
    'collection holders --token-id',
    'nft refresh token-id',
    'nft transfer --token-id',
  ])
})

const mint = JSON.stringify({
  ...{ contract_address: CONTRACT, blockchain: 'polygon', receiver_wallet_address: OWNER },
  metadata: [{ title: 'Dawn', description: '', file_fields: [] }],
})
const collection = JSON.stringify({ name: 'Tide', blockchain: 'polygon', wallet_address: OWNER })
const transfer = JSON.stringify({
  ...{ nft_gdn_id: 'x', contract_address: CONTRACT, blockchain: 'polygon', token_id: '1' },
  ...{ sender_wallet_address: OWNER, receiver_wallet_address: OWNER },
})
const AT = ['--base-url', 'https://a.test']

/** Command lines that read standard input, with the text and a part of the output. */
const READS: readonly [line: string[], stdin: string, prints: string][] = [
  [['collection', 'create', '--file', '-', '--dry-run', ...AT], collection, 'Tide'],
  [['nft', 'mint', '--file', '-', '--dry-run', ...AT], mint, 'Dawn'],
  [
    ['nft', 'grant', '--file', '-', '--dry-run', ...AT],
    mint.replace('{', `{"sender_wallet_address":"${OWNER}",`),
    'Dawn',
  ],
  [['nft', 'transfer', '--file', '-', '--dry-run', ...AT], transfer, '"token_id"'],
  [['api', 'createnft', '--file', '-', '--dry-run', ...AT], mint, 'Dawn'],
  [['batch', 'validate', '-', ...TARGET], CSV, '2 rows'],
  [['batch', 'rarity', '-', ...TARGET], CSV, 'Dawn'],
  [['batch', 'preview', '-', ...TARGET, '--to', 'page.html'], CSV, 'page.html'],
  [['batch', 'mint', '-', ...TARGET, '--run', 'r', '--dry-run', '--no-lookup', ...AT], CSV, 'Dawn'],
  [['auth', 'login', '--key-file', '-', '--no-check', ...AT], 'sesame-open\n', 'credentials'],
  [['init', '--hosted', '--key-file', '-', '--no-check', ...AT], 'sesame-open\n', 'a.test'],
  [['wallet', 'add', '--from', '-', '-o', 'csv'], `name,address\nalice,${OWNER}\n`, 'alice'],
]

/** Commands that read a password. */
const READ_PASSWORDS = ['wallet generate', 'wallet import', 'wallet export', 'chain setup', 'collection set']
/** Commands that read standard input and need a server, and those that take only files. Their own tests show it. */
const WITH_SERVER = ['cost', 'plan', 'nft update']
const FILE_ONLY = ['batch rehearse', 'apply', 'reveal']

test('lists every command that says that it reads standard input, and every manifest', () => {
  const says = tree.commands
    .filter(
      ({ flags, arguments: args }) =>
        flags.some(({ summary }) => summary.includes('standard input')) || args.some(({ name }) => name === 'manifest'),
    )
    .map(({ name }) => name)
  const listed = READS.map(([[noun = '', verb = '']]) => (['api', 'init'].includes(noun) ? noun : `${noun} ${verb}`))
  expect(says.sort()).toEqual([...listed, ...READ_PASSWORDS, ...WITH_SERVER, ...FILE_ONLY].sort())
})

test('gdn batch rehearse asks for a file in place of standard input', async () => {
  const { code, stderr } = await cli(['batch', 'rehearse', '-', '-c', `0x${'a'.repeat(40)}`, '-b', 'polygon'])
  expect({ code, stderr }).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Write the manifest to a file first.'),
  })
})

test.each(READS)('%j reads standard input', async (line, stdin, prints) => {
  const { options } = await folder({})
  const { code, stdout, stderr } = await cli(line, { ...options, stdin })
  expect(stdout + stderr).toContain(prints)
  expect(code, stderr).toBe(0)
})

// Of `wallet export`, wallet.test.ts shows it.
test.each(READ_PASSWORDS.filter((name) => name !== 'wallet export'))(
  'gdn %s --password-file - reads the password from standard input',
  async (name) => {
    const { argv, options } = await (SCENARIOS[name] as Scenario).prepare()
    const at = argv.indexOf('--password-file') + 1
    if (at > 0) argv[at] = '-'
    const right = await cli(at > 0 ? argv : [...argv, '--password-file', '-'], { ...options, stdin: `${PASSWORD}\n` })
    expect(right.code, right.stderr).toBe(0)
  },
)

test('an export of the database is never a stream', async () => {
  for (const verb of ['export', 'import']) {
    expect(await cli(['db', verb, '-'])).toMatchObject({ code: 2, stderr: expect.stringContaining('must be a file') })
  }
})

test('a password file that does not exist has no hint to pipe it in', async () => {
  const { env } = await tempHome()
  const { stderr } = await cli(['wallet', 'generate', '--offline', '--name', 'a', '--password-file', 'nowhere'], {
    env,
  })
  expect(stderr).toContain("nowhere: doesn't exist")
  expect(stderr).not.toContain('Pipe it in')
})
