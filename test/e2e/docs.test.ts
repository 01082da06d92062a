import { cp, mkdir, mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type GdnHome, makeHome } from '../helpers/gdn.ts'
import { startHttpServer } from '../helpers/http-server.ts'
import { writeKeystore, writePassword } from '../helpers/keystore-file.ts'
import { findPostgres, startPostgres } from '../helpers/postgres-server.ts'
import { startPublicNetwork } from '../helpers/public-network.ts'
import { OF_CAST } from '../keystore/vectors.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const WALLET = '0x105BA2A3D820926739b9443a81fb7ab5C531e823'
const MNEMONIC = 'test test test test test test test test test test test junk'

let home: GdnHome
let server: string
let apiKey: string

/** A local backend, and the programs of the docs on the PATH. */
beforeAll(async () => {
  home = await makeHome()
  const { url } = await home.json<{ url: string }>(['local', 'start', '--rate-limits', 'off'])
  server = url
  apiKey = (await readFile(join(home.dir, 'data/gdn/local/api-key'), 'utf8')).trim()
  await mkdir(join(home.dir, 'bin'))
  await program('gdn', STARTING_GDN)
  await program('npm', 'exit 0')
  await program('npx', 'exit 0')
  await program('pass', `printf %s '${apiKey}'`)
})
afterAll(async () => {
  await home.run(['local', 'stop'])
  await home.remove()
})

const program = (name: string, script: string) =>
  writeFile(join(home.dir, 'bin', name), `#!/usr/bin/env bash\n${script}\n`, { mode: 0o755 })

/**
 * gdn in the PATH of the pages. Commands that run until they are stopped run in the background until they print their
 * address.
 */
const STARTING_GDN = `set -euo pipefail
node=${process.env.GDN_TEST_NODE || process.execPath}
case "$1 \${2:-}" in
  serve*|worker*|"local listen")
    [ "$1" = serve ] && set -- "$@" --port 0
    [[ "$*" = *--data-dir* || "$1" != serve ]] || set -- "$@" --data-dir "$(mktemp -d -p "$HOME")"
    coproc { exec "$node" "${ROOT}bin/gdn.js" "$@" 2>&1; }
    pid=$COPROC_PID
    while read -r line <&"\${COPROC[0]}"; do
      case "$line" in *http://*) kill -INT "$pid"; wait "$pid" || true; exit 0;; esac
    done
    exit 1;;
  *) exec "$node" "${ROOT}bin/gdn.js" "$@";;
esac`

/** Runs `gdn serve --data-dir data` until the script ends. Its address is in the variable `ready`. */
const SERVING = `exec 3< <(exec ${process.env.GDN_TEST_NODE || process.execPath} ${ROOT}bin/gdn.js serve --data-dir data --port 0 --json)
trap "kill $!" EXIT
read -r ready <&3`

/** The shell commands of a page. Files that it shows are written to the folder first. */
async function scriptOf(page: string, folder: string, values: Record<string, string>): Promise<string> {
  const text = await readFile(join(ROOT, page), 'utf8')
  for (const [, file = '', content = ''] of text.matchAll(/^```yaml\n# (\S+)\n(.*?)^```$/gms))
    await writeFile(join(folder, file), content)
  const blocks = [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block)
  expect(blocks.length).toBeGreaterThan(0)
  return Object.entries(values).reduce((script, [from, to]) => script.replaceAll(from, to), blocks.join('\n'))
}

/**
 * Runs the commands of a page in a folder like a clone of the repository, with a separate state directory.
 *
 * @param before setup: variables, files
 * @param values replacements for the page's examples
 */
async function run(page: string, { before = '', values = {} }: { before?: string; values?: Record<string, string> }) {
  const folder = await mkdtemp(join(home.dir, 'clone-'))
  await cp(join(ROOT, 'examples'), join(folder, 'examples'), { recursive: true })
  const script = `set -euo pipefail\n${before}\n${await scriptOf(page, folder, values)}`
  const { exitCode, all } = await execa('bash', ['-c', script], {
    cwd: folder,
    env: {
      ...home.env,
      GDN_STATE_DIR: join(folder, 'state'),
      PATH: `${home.dir}/bin:${process.env.PATH}`,
      BROWSER: 'none',
    },
    extendEnv: false,
    reject: false,
    all: true,
    stdin: 'ignore',
  })
  expect({ exitCode, all: exitCode === 0 ? '' : all }).toEqual({ exitCode: 0, all: '' })
}

/** Compiles the TypeScript of a page against the built package, and runs it. Returns what it prints. */
async function runTypeScript(page: string, values: Record<string, string>): Promise<string[]> {
  const folder = await mkdtemp(join(home.dir, 'project-'))
  await cp(join(ROOT, 'examples'), join(folder, 'examples'), { recursive: true })
  await mkdir(join(folder, 'node_modules'))
  await symlink(ROOT, join(folder, 'node_modules/gdn'))
  const text = await readFile(join(ROOT, page), 'utf8')
  const blocks = [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, block = '']) => block)
  const source = Object.entries(values).reduce((all, [from, to]) => all.replaceAll(from, to), blocks.join('\n'))
  await writeFile(join(folder, 'page.mts'), source)
  const resolution = ['--module', 'nodenext', '--target', 'es2023', '--outDir', folder]
  const types = ['--strict', '--types', 'node', '--typeRoots', join(ROOT, 'node_modules/@types')]
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
  const compiled = await execa(process.execPath, [tsc, ...resolution, ...types, 'page.mts'], {
    cwd: folder,
    reject: false,
  })
  expect(compiled.stdout).toBe('')
  const { exitCode, stdout, stderr } = await execa(process.env.GDN_TEST_NODE || process.execPath, ['page.mjs'], {
    cwd: folder,
    env: { ...home.env, GDN_STATE_DIR: join(folder, 'state'), GDN_BASE_URL: server, GDN_API_KEY: apiKey },
    extendEnv: false,
    reject: false,
    stdin: 'ignore',
  })
  expect({ exitCode, stderr: exitCode === 0 ? '' : stderr }).toEqual({ exitCode: 0, stderr: '' })
  return [...stdout.split('\n'), ...stderr.split('\n')]
}

/** Creates a collection whose address the commands of a page use. */
async function newCollection(): Promise<string> {
  const argv = ['collection', 'create', '--local', '-b', 'polygon', '--name', 'Docs', '--wallet', WALLET]
  return (await home.json<{ contract_address: string }>(argv)).contract_address
}

describe('every command of the docs works, in the order of its page', () => {
  const EXAMPLE = '0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811'

  test('README.md', async () => {
    const contract = await newCollection()
    await run('README.md', {
      before: `export GDN_PROFILE=local GDN_BLOCKCHAIN=polygon GDN_CONTRACT=${await newCollection()}`,
      values: {
        [EXAMPLE]: contract,
        'gdn batch mint drop.csv': 'cp -r examples/drop.csv examples/media .; gdn batch mint drop.csv',
      },
    })
  })

  test('docs/first-drop.md', async () => {
    await run('docs/first-drop.md', { values: { 'gdn local stop': '' } })
  })

  test('docs/drops.md', async () => {
    const network = await startPublicNetwork([], { blockSeconds: 1 })
    try {
      await run('docs/drops.md', {
        values: {
          'https://api.example.com': server,
          'https://node.example/KEY': network.url,
          '--max-cost 10USD': '--max-cost 1000USD',
          'gdn init\n': '',
          'gdn batch template > drop.csv': `cp -r examples/drop.csv examples/media .; export GDN_CONTRACT=${await newCollection()}`,
          'gdn batch reconcile drop.csv --row hour-04=absent': '',
        },
      })
    } finally {
      await network.close()
    }
  })

  test('docs/ci.md', async () => {
    await run('docs/ci.md', {
      before: `export CONTRACT=${await newCollection()}; cp -r examples/drop.csv examples/media .; echo 'faults: []' > faults.yaml`,
    })
  })

  test('docs/wallets.md', async () => {
    await run('docs/wallets.md', {
      before: `umask 077; echo a-long-password > password; echo ${MNEMONIC} > mnemonic.txt; echo '${JSON.stringify(OF_CAST.json)}' > deployer.json; gdn wallet generate --local --name alice --password-file password; export CONTRACT=${await newCollection()}`,
      values: {
        '--to key.txt': '--to key.txt --password-file password',
        '--to payer-keypair.json': '--to payer-keypair.json --password-file password',
      },
    })
  })

  test('docs/collections.md', async () => {
    const wallets = ['ada', 'ben'].map((name) => `gdn wallet generate --local --name ${name} --password-file password`)
    const create = 'gdn collection create --local -b polygon --name Tides --wallet @ada -o ids'
    await run('docs/collections.md', {
      before: `umask 077; echo a-long-password > password; ${wallets.join('; ')}; export CONTRACT=$(${create})`,
      values: {
        'https://node.example/KEY': `${server}/rpc/polygon`,
        '@alice': '@ada',
        '@bob': '@ben',
        'collection set "$CONTRACT"': 'collection set "$CONTRACT" --password-file password',
      },
    })
  })

  test('docs/reveal.md', async () => {
    const wallets = ['eve', 'finn'].map((name) => `gdn wallet generate --local --name ${name} --password-file password`)
    await run('docs/reveal.md', {
      before: `umask 077; echo a-long-password > password; ${wallets.join('; ')}`,
      values: { '@alice': '@eve', '@bob': '@finn' },
    })
  })

  test('docs/plan-and-apply.md', async () => {
    const wallets = ['gil', 'hal'].map((name) => `gdn wallet generate --local --name ${name} --password-file password`)
    await run('docs/plan-and-apply.md', {
      before: `umask 077; echo a-long-password > password; ${wallets.join('; ')}`,
      values: { '@alice': '@gil', '@bob': '@hal', 'gdn apply drop.csv\n': 'gdn apply drop.csv --yes\n' },
    })
  })

  test('docs/client.md', async () => {
    const printed = await runTypeScript('docs/client.md', {
      'https://api.example.com': server,
      'process.env.SHOP_API_KEY': 'process.env.GDN_API_KEY',
      [EXAMPLE]: await newCollection(),
    })
    expect(printed.join()).toMatch(/\[ '(initiated|deployed)' \]/)
    expect(printed).toContain('invalid_input nft_gdn_ids must have at least one ID nft_gdn_ids')
    expect(printed.join()).toContain('Tidal Hours 00: Low Moon')
    expect(printed).toContain("[ 'deployed: order 42' ]")
  })

  test('docs/webhooks.md', async () => {
    await run('docs/webhooks.md', { values: { '<id>': '"$(gdn webhook list -o ids | head -n 1)"' } })
  })

  test('docs/fault-injection.md', async () => {
    await run('docs/fault-injection.md', {})
  })

  test('docs/storage.md', async () => {
    await run('docs/storage.md', {})
  })

  test.each([
    'docs/local-backend.md',
    'docs/configuration.md',
    'docs/output.md',
    'docs/manifest.md',
    'docs/blockchains.md',
    'docs/security.md',
    'docs/exit-codes.md',
    'docs/api.md',
  ])('%s', async (page) => {
    const contract = await newCollection()
    await run(page, {
      before: `cp -r examples/drop.csv examples/media .; printf %s ${apiKey} > key; export KEY=${apiKey} GDN_PROFILE=local GDN_BASE_URL=${server} GDN_CONTRACT=${contract} GDN_BLOCKCHAIN=polygon; gdn wallet add owner ${WALLET} 2>/dev/null || true; gdn nft mint --receiver ${WALLET} --title One >/dev/null; gdn batch mint drop.csv >/dev/null`,
      values: {
        'https://api.example.com': server,
        [EXAMPLE]: contract,
        '@alice': '@owner',
        'gdn batch template > drop.csv': 'gdn batch template > template.csv',
        'gdn auth login': 'pass gdn | gdn auth login',
        '| jq -r .error.code': '| jq -r .error.code || test $? = 5',
        'gdn local stop': '',
      },
    })
  })

  test('docs/public-networks.md', async () => {
    const network = await startPublicNetwork([], { blockSeconds: 1 })
    const base = await startPublicNetwork([], { blockSeconds: 1, chainId: 8453 })
    const [admin, ...operators] = [generatePrivateKey(), generatePrivateKey(), generatePrivateKey()]
    const dataDir = join(home.dir, 'public')
    const service = await startHttpServer(({ path }) => {
      const json = path.startsWith('/api')
        ? { status: '0', result: 'Contract source code already verified' }
        : { match: 'exact_match' }
      return { json }
    })
    try {
      await mkdir(join(dataDir, 'credentials'), { recursive: true, mode: 0o700 })
      for (const key of [admin, ...operators])
        await network.call('anvil_setBalance', [privateKeyToAccount(key).address, '0xffffffffffffffffff'])
      await writeKeystore(join(dataDir, 'admin.json'), admin)
      for (const [i, key] of operators.entries()) await writeKeystore(join(dataDir, `operator-${i + 1}.json`), key)
      await writePassword(join(dataDir, 'operator-1.password'))
      await writePassword(join(dataDir, 'credentials', 'operator-2'))
      await writePassword(join(dataDir, 'etherscan.key'))
      const page = await readFile(join(ROOT, 'docs/public-networks.md'), 'utf8')
      const settings = (/^```yaml\n(.*?)^```$/ms.exec(page)?.[1] ?? '')
        .replace(/rpc_urls: .*/, `rpc_urls: ['${network.url}']`)
        .replace(/finality: \d+/, 'finality: 2')
        .replace(/confirmations: \d+/, 'confirmations: 1')
      await writeFile(join(dataDir, 'backend.yaml'), settings, { mode: 0o600 })
      await run('docs/public-networks.md', {
        before: `export CREDENTIALS_DIRECTORY=${dataDir}/credentials`,
        values: {
          'sh release-drop.sh': 'gdn collection list',
          'https://base-node.example/KEY': base.url,
          '  base:\n': '  base:\n    confirmations: 1\n    finality: 2\n',
          'gdn wallet list': `for address in $(gdn wallet list -o ids); do curl -fsS -H content-type:application/json ${base.url} -d '{"jsonrpc":"2.0","id":1,"method":"anvil_setBalance","params":["'$address'","0xde0b6b3a7640000"]}'; done`,
          '--password-file admin.password # prompts': '--password-file admin.password --yes # prompts',
          'gdn chain verify base': `gdn chain verify base --sourcify-url ${service.url}`,
          'gdn serve --data-dir data': SERVING,
          'http://127.0.0.1:4680': '"$(jq -r .url <<< "$ready")"',
          'gdn collection create': 'gdn collection create --yes',
          'gdn batch mint examples/drop.csv': 'gdn batch mint examples/drop.csv --yes',
          'drop.csv --verify # chain': 'drop.csv --json --verify # chain',
          ' # chain and files': ` | jq -e 'length == 24 and all(.verified)' # chain and files`,
          [`drop.csv -c ${EXAMPLE} -b polygon`]: 'examples/drop.csv --again --data-dir data -c "$CONTRACT" -b base',
          'gdn chain setup polygon --admin-keystore admin.json': `gdn chain setup polygon --admin-keystore ${dataDir}/admin.json --password-file ${dataDir}/operator-1.password --yes --data-dir ${dataDir}`,
          'gdn chain status polygon': `gdn chain status polygon --data-dir ${dataDir}`,
          'https://node.example/v2/KEY': network.url,
          'gdn chain verify polygon': `gdn chain verify polygon --data-dir ${dataDir} --sourcify-url ${service.url}`,
          'etherscan.key': `${dataDir}/etherscan.key --etherscan-url ${service.url}/api`,
          'gdn tx unknown': `gdn tx unknown --data-dir ${dataDir}`,
          'gdn tx release <collection>': `gdn tx release 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed --data-dir ${dataDir} || test $? = 2`,
        },
      })
    } finally {
      await service.close()
      await network.close()
      await base.close()
    }
  })

  test.skipIf(findPostgres() === null)('docs/postgresql.md', async () => {
    const postgres = await startPostgres()
    const dataDir = join(home.dir, 'moved')
    try {
      await postgres.execute('CREATE DATABASE gdn')
      await run('docs/postgresql.md', {
        before: `gdn serve --data-dir ${dataDir}`,
        values: {
          'gdn local stop': '',
          'gdn db export all.jsonl': `gdn db export all.jsonl --data-dir ${dataDir}`,
          'postgres://gdn@db.example/gdn?sslmode=verify-full': `'${postgres.url('gdn')}'`,
          'gdn serve': `gdn serve --data-dir ${dataDir}`,
          'gdn worker': `gdn worker --data-dir ${dataDir} --health-port 0`,
        },
      })
    } finally {
      await postgres.close()
    }
  })
})
