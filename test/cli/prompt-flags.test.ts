import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { COMMANDS, makeCommand } from '../../src/cli/catalogue.ts'
import type { Deps } from '../../src/cli/deps.ts'
import { CONTRACT, OWNER } from './fake-api.ts'
import { cli } from './harness.ts'

const SRC = fileURLToPath(new URL('../../src/cli/', import.meta.url))
const PROMPT = /(?<![#\w])(askText|askSecret|choose|askYesNo|askLine|askAddress|askBlockchain|askCollection|confirm)\(/
/** The flag of a prompt or an error, or the last argument of `io.confirm`. */
const FLAG = /(?:flag: |FLAG = |flagError\(|confirm\([\s\S]*?,\s+)['`](--[\w-]+|<\w+>)['` ]/g

/** The files that prompt, without the prompts themselves, and commands that use each. */
const PROMPTS: Readonly<Record<string, readonly string[]>> = {
  'commands/batch/rm.ts': ['batch rm'],
  'batch/report/row-warnings.ts': ['batch mint', 'nft mint', 'apply'],
  'batch/resume-run.ts': ['batch resume'],
  'batch/runs/resolve-run.ts': ['batch status', 'batch resume'],
  'commands/chain/setup.ts': ['chain setup'],
  'commands/collection/set/apply.ts': ['collection set'],
  'commands/collection/ask-for-missing.ts': ['collection create'],
  'commands/init.ts': ['init'],
  'commands/init/defaults.ts': ['init'],
  'commands/init/hosted.ts': ['init'],
  'commands/init/local.ts': ['init'],
  'commands/local/reset.ts': ['local reset'],
  'commands/nft/burn.ts': ['nft burn'],
  'commands/nft/freeze.ts': ['nft freeze'],
  'commands/nft/grant.ts': ['nft grant'],
  'commands/nft/mint-request.ts': ['nft mint'],
  'commands/nft/transfer-request.ts': ['nft transfer'],
  'commands/tx/release.ts': ['tx release'],
  'commands/tx/replacement.ts': ['tx bump', 'tx cancel'],
  'commands/wallet/account.ts': ['wallet url', 'wallet generate'],
  'commands/wallet/given-key.ts': ['wallet import'],
  'commands/wallet/password.ts': ['wallet generate', 'wallet import', 'wallet export'],
  'cost/confirm-spending.ts': ['nft mint', 'nft transfer', 'collection create', 'batch mint', 'apply', 'reveal'],
  'commands/webhook/rm.ts': ['webhook rm'],
  'connect/read-key.ts': ['auth login', 'init'],
  'connect/resolve-collection.ts': ['nft mint', 'batch mint'],
  'plan/store-names.ts': ['apply', 'reveal'],
  'reveal/seal-drop.ts': ['reveal'],
  'sheet/resolve-output-file.ts': ['batch preview', 'batch report'],
}

test('lists every file that prompts', async () => {
  const found = []
  for (const name of await readdir(SRC, { recursive: true })) {
    if (!name.endsWith('.ts') || /^(io|prompt)\//.test(name)) continue
    const calls = (await readFile(join(SRC, name), 'utf8')).replaceAll(/function \w+\(/g, '')
    if (PROMPT.test(calls)) found.push(name)
  }
  expect(found.sort()).toEqual(Object.keys(PROMPTS).sort())
})

test.each(Object.entries(PROMPTS))('%s: each prompt has a flag or argument of the command', async (file, commands) => {
  const flags = [...(await readFile(join(SRC, file), 'utf8')).matchAll(FLAG)].map(([, flag]) => flag ?? '')
  expect(flags.length).toBeGreaterThan(0)
  for (const name of commands) {
    const verb = COMMANDS.find(({ command }) => command === name)
    if (verb === undefined) throw new Error(`no command ${name}`)
    const { options, registeredArguments } = await makeCommand(verb, {} as Deps)
    const known = [...options.map(({ long }) => long), ...registeredArguments.map((one) => `<${one.name()}>`)]
    expect(known, name).toEqual(expect.arrayContaining(flags))
  }
})

const AT = ['--base-url', 'https://a.test']
const SOLANA = '4Nd1mYQzvgV8Vr3Z3nYb7pD6T8K2jF2eqWxY1vC4mQ5R'
const IN = ['-c', CONTRACT, '-b', 'polygon']

test.each<[string[], string]>([
  [['collection', 'create', '--dry-run'], '--name'],
  [['collection', 'create', '--name', 'x', '--dry-run'], '--blockchain'],
  [['collection', 'create', '--name', 'x', '-b', 'polygon', '--dry-run'], '--wallet'],
  [['collection', 'create', '--name', 'x', '-b', 'solana', '--wallet', SOLANA, '--dry-run'], '--description'],
  [['nft', 'mint', '--dry-run', ...AT], '--title'],
  [['nft', 'mint', '--title', 'x', ...AT], '--contract'],
  [['nft', 'mint', '--title', 'x', '-c', CONTRACT, ...AT], '--blockchain'],
  [['nft', 'mint', '--title', 'x', ...IN, '--dry-run', ...AT], '--receiver'],
  [['nft', 'grant', '--title', 'x', '--receiver', OWNER, ...IN, '--dry-run', ...AT], '--sender'],
  [['nft', 'transfer', ...AT], 'nft_gdn_id'],
  [['nft', 'transfer', 'x', ...AT], '--receiver'],
  [['batch', 'status'], 'run'],
  [['wallet', 'url', ...AT], '--email'],
  [['wallet', 'generate', '--email', 'a@example.com', ...AT], '--password-file'],
  [['wallet', 'generate', '--offline'], '--password-file'],
  [['wallet', 'import'], '--password-file'],
  [['auth', 'login', ...AT], '--key-file'],
  [['init'], '--hosted'],
  [['init', '--hosted'], '--base-url'],
])('without a terminal, %j fails and names %s', async (argv, name) => {
  const { code, stdout, stderr } = await cli(argv, { env: { GDN_API_KEY: 'key' } })
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain(name)
})
