import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { KNOWN_EVM_NAMES } from '../../src/api/blockchains.ts'
import { MARKETPLACE_LIMITS } from '../../src/files/inspect/inspect-file.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

const MIB = 2 ** 20
const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const count = (n: number) => n.toLocaleString('en-US')
const TIMES = ['', 'once', 'twice', 'three times']
const WORDS = ['', 'one', 'two', 'three', 'four', 'five']

/** A page, what it says of a number, the source file that has the number, and the code before it. */
type Stated = readonly [page: string, sentence: (n: number) => string, source: string, before: string]

const LIMITS = 'src/archive/limits.ts'

const STATED: readonly Stated[] = [
  ['docs/names.md', (n) => `limited to ${n / MIB} MiB`, 'src/ens/gateway.ts', 'MAX_RESPONSE_BYTES ='],
  ['docs/names.md', (n) => `and ${n / SECOND} s`, 'src/ens/gateway.ts', 'GATEWAY_TIMEOUT_MS ='],
  ['docs/names.md', (n) => `at most ${n} redirects`, 'src/files/exchange.ts', 'maxRedirects ='],
  ['docs/archives.md', (n) => `at most ${count(n)} tokens`, LIMITS, 'MAX_TOKENS ='],
  ['docs/archives.md', (n) => `The maximum size is ${n / MIB} MiB for a token URI`, LIMITS, 'MAX_URI_BYTES ='],
  ['docs/archives.md', (n) => `and ${n / MIB} MiB for metadata`, LIMITS, 'MAX_METADATA_BYTES ='],
  ['docs/archives.md', (n) => `A token can have at most ${n} files`, LIMITS, 'MAX_FILES_PER_TOKEN ='],
  ['docs/archives.md', (n) => `of a file (${n / MIB} MiB)`, LIMITS, 'FILE_BYTES ='],
  ['docs/archives.md', (n) => `of all files (${n / (1024 * MIB)} GiB)`, LIMITS, 'TOTAL_BYTES ='],
  ['docs/archives.md', (n) => `times out after ${n / SECOND} s`, LIMITS, 'TIMEOUT_MS ='],
  ['docs/archives.md', (n) => `at most ${n} redirects`, LIMITS, 'MAX_REDIRECTS ='],
  ['docs/archives.md', (n) => `fails ${n} times in a row`, 'src/archive/gateways.ts', 'MAX_CONSECUTIVE_FAILURES ='],
  [
    'docs/shuffle.md',
    (n) => `at least ${n / 60} minutes after`,
    'src/cli/batch/reveal/shuffled.ts',
    'DEFAULT_MARGIN_S =',
  ],
  ['docs/api.md', (n) => `A request has at most ${count(n)} NFTs`, 'src/api/metadata.ts', 'MAX_NFTS_PER_REQUEST ='],
  ['docs/api.md', (n) => `${count(n)} values`, 'src/server/http/json-body.ts', 'MAX_VALUES ='],
  ['docs/api.md', (n) => `at most ${n / MIB} MiB. Larger`, 'src/server/http/app.ts', 'BODY_LIMIT_BYTES ='],
  [
    'docs/api.md',
    (n) => `at most ${count(n)} collections`,
    'src/api/endpoints/getcollections.ts',
    'transactionGdnIdSchema,',
  ],
  ['docs/api.md', (n) => `updates up to ${n} tokens`, 'src/server/chain/evm/collection.ts', 'MAX_TOKENS_PER_CALL ='],
  ['docs/api.md', (n) => `of up to ${n} NFTs permanent`, 'src/api/endpoints/freezenft.ts', 'MAX_FROZEN_PER_REQUEST ='],
  [
    'docs/api.md',
    (n) => `settings of up to ${n} collections`,
    'src/api/endpoints/getcollectionsettings.ts',
    'MAX_COLLECTIONS_WITH_SETTINGS =',
  ],
  [
    'docs/api.md',
    (n) => `up to ${n} events, oldest first`,
    'src/api/endpoints/getnfthistory.ts',
    'MAX_EVENTS_PER_REQUEST =',
  ],
  ['docs/api.md', (n) => `The maximum is ${n} seconds`, 'src/server/http/held-reads.ts', 'MAX_WAIT_S ='],
  ['docs/api.md', (n) => `at most ${n} requests for an account`, 'src/server/http/held-reads.ts', 'perAccount:'],
  ['docs/api.md', (n) => `1 to ${n} printable ASCII`, 'src/api/reference-id.ts', 'MAX_REFERENCE_ID_LENGTH ='],
  ['docs/api.md', (n) => `of 1 to ${n} characters, without`, 'src/api/reference-id.ts', 'MAX_REFERENCE_LABEL_LENGTH ='],
  [
    'docs/api.md',
    (n) => `aliases for up to ${count(n)} NFTs`,
    'src/api/endpoints/getreferences.ts',
    'MAX_REFERENCES_PER_REQUEST =',
  ],
  [
    'docs/blockchains.md',
    (n) => `supply of up to ${n} NFTs`,
    'src/server/pipeline/solana/burn-follower.ts',
    'TOKENS_PER_REQUEST =',
  ],
  [
    'docs/blockchains.md',
    (n) => `every ${WORDS[n]} polls`,
    'src/server/pipeline/solana/burn-follower.ts',
    'POLLS_BETWEEN_REQUESTS =',
  ],
  ['docs/ci.md', (n) => `up to ${n} annotations`, 'src/cli/render/github-actions.ts', 'MAX_ANNOTATIONS ='],
  ['docs/ci.md', (n) => `up to ${n} rows that failed`, 'src/cli/render/github-actions.ts', 'MAX_ROWS ='],
  ['docs/architecture.md', (n) => `single commands after ${n / DAY} days`, 'src/state/runs.ts', 'MAX_RUN_AGE_MS ='],
  ['docs/architecture.md', (n) => `more than ${count(n)} of them`, 'src/state/runs.ts', 'MAX_COMMAND_RUNS ='],
  ['docs/architecture.md', (n) => `for ${n / SECOND} s without a`, 'src/sqlite/shared-database.ts', 'STUCK_MS ='],
  ['docs/client.md', (n) => `at most ${count(n)} NFTs`, 'src/api/endpoints/getnfts.ts', 'MAX_IDS_PER_REQUEST ='],
  ['docs/client.md', (n) => `for up to ${n / SECOND} seconds`, 'src/client/retry-read.ts', 'BUDGET_MS ='],
  ['docs/client.md', (n) => `(${n / MINUTE} minutes by default)`, 'src/operations/defaults.ts', 'DEFAULT_WAIT_MS ='],
  ['docs/drops.md', (n) => `local files of up to ${n / MIB} MiB`, 'src/api/endpoints/files.ts', 'MAX_FILE_BYTES ='],
  ['docs/drops.md', (n) => `the last ${n} blocks`, 'src/server/chain/evm/cost/network-fees.ts', 'RECENT_BLOCKS ='],
  ['docs/drops.md', (n) => `of JSON within ${n / SECOND} s`, 'src/cli/cost/fetch-price.ts', 'TIMEOUT_MS ='],
  ['docs/drops.md', (n) => `at most ${n / 1024} KiB`, 'src/cli/cost/fetch-price.ts', 'MAX_BYTES ='],
  ['docs/drops.md', (n) => `mint up to ${n} NFTs each`, 'src/server/chain/evm/collection.ts', 'MAX_TOKENS_PER_CALL ='],
  [
    'docs/drops.md',
    (n) => `path of more than ${n} characters`,
    'src/api/reference-id.ts',
    'MAX_REFERENCE_LABEL_LENGTH =',
  ],
  ['docs/drops.md', (n) => `adds about ${count(n)} gas`, 'src/server/chain/evm/gas-limits.ts', 'MINT_BASE_GAS ='],
  ['docs/drops.md', (n) => `if at least ${n} rows have NFTs`, 'src/plan/other-drop.ts', 'MIN_REFUSED ='],
  ['docs/drops.md', (n) => `at least ${100 * n} % of these NFTs`, 'src/plan/other-drop.ts', 'REFUSED_SHARE ='],
  ['docs/drops.md', (n) => `${100 * n} % of the changed rows`, 'src/batch/identity/exchanged.ts', 'MIN_MOVED_SHARE ='],
  ['docs/drops.md', (n) => `at least ${100 * n} % of the NFTs differ`, 'src/plan/other-drop.ts', 'NOTED_SHARE ='],
  ['docs/drops.md', (n) => `at least ${n} edited rows`, 'src/batch/identity/renumbered.ts', 'MIN_CHANGED ='],
  [
    'docs/drops.md',
    (n) => `if at least ${n} rows, and at least half of the rows to send`,
    'src/batch/identity/renumbered.ts',
    'MIN_CHANGED =',
  ],
  [
    'docs/drops.md',
    (n) => `at least ${n === 2 ? 'half' : `1/${n}`} of all edited rows`,
    'src/batch/identity/renumbered.ts',
    'changedCount >= totalCount /',
  ],
  [
    'docs/reveal.md',
    (n) => `lists the first ${n} rows of both kinds`,
    'src/reveal/plan-reveal.ts',
    'MAX_LISTED_SKIPPED_ROWS =',
  ],
  [
    'docs/drops.md',
    (n) => `at least ${n} different values`,
    'src/batch/identity/exchanged.ts',
    'MIN_EXCHANGED_VALUES =',
  ],
  [
    'docs/drops.md',
    (n) => `At most ${n} rows, or a tenth of the rows that exchange values`,
    'src/batch/identity/exchanged.ts',
    'MAX_EXCESS =',
  ],
  ['docs/drops.md', (n) => `fewer than ${n} wallets`, 'src/batch/identity/exchanged.ts', 'MIN_EXCHANGED_VALUES ='],
  ['docs/drops.md', (n) => `server, ${n} per request`, 'src/client/read-records.ts', 'IDS_PER_REQUEST ='],
  ['docs/drops.md', (n) => `at most ${count(n)} changed NFTs`, 'src/cli/sheet/present-nfts.ts', 'MAX_HISTORIES ='],
  ['docs/drops.md', (n) => `first ${WORDS[n]} warnings`, 'src/cli/batch/report/row-warnings.ts', 'MAX_BRIEF ='],
  ['docs/drops.md', (n) => `create at most ${n} NFTs`, 'src/cli/cost/paid.ts', 'MAX_NFTS ='],
  [
    'docs/drops.md',
    (n) => `Retries for up to ${n} minutes`,
    'src/operations/retries.ts',
    'unknown: unreachableMs,\n    rate_limited:',
  ],
  ['docs/exit-codes.md', (n) => `waits up to ${n / SECOND} s`, 'src/batch/send/attempts.ts', 'GRACE_MS ='],
  [
    'docs/exit-codes.md',
    (n) => `waits up to ${n / MINUTE} minutes after`,
    'src/operations/defaults.ts',
    'DEFAULT_WAIT_MS =',
  ],
  [
    'docs/exit-codes.md',
    (n) => `verify\` takes up to ${n / MINUTE} minutes`,
    'src/operations/defaults.ts',
    'DEFAULT_WAIT_MS =',
  ],
  [
    'docs/exit-codes.md',
    (n) => `set\` takes up to ${n / MINUTE} minutes`,
    'src/operations/defaults.ts',
    'DEFAULT_WAIT_MS =',
  ],
  [
    'docs/exit-codes.md',
    (n) => `setup\` waits up to ${n / MINUTE} minutes`,
    'src/cli/commands/chain/setup.ts',
    'DEFAULT_TIMEOUT_MS =',
  ],
  [
    'docs/local-backend.md',
    (n) => `at most ${n} MiB of memory in total`,
    'src/server/http/body-memory.ts',
    '= { total:',
  ],
  [
    'docs/local-backend.md',
    (n) => `and at most ${n} MiB for each client`,
    'src/server/http/body-memory.ts',
    'MIB, perAddress:',
  ],
  [
    'docs/local-backend.md',
    (n) => `limits each key to ${WORDS[n]} requests per second`,
    'src/api/endpoints/createnft.ts',
    'ratePerSecond:',
  ],
  ['docs/manifest.md', (n) => `at most ${n} files`, 'src/api/metadata.ts', 'MAX_FILE_FIELDS ='],
  ['docs/manifest.md', (n) => `at most ${n} items of metadata`, 'src/api/metadata.ts', 'MAX_METADATA_ITEMS ='],
  [
    'docs/manifest.md',
    (n) => `up to ${n} cells of an unknown column`,
    'src/manifest/suggest-columns.ts',
    'CELLS_SAMPLED =',
  ],
  ['docs/plan-and-apply.md', (n) => `up to ${n} burns and transfers`, 'src/cli/plan/plan-view.ts', 'MAX_FINAL ='],
  ['docs/plan-and-apply.md', (n) => `the first ${n} changes`, 'src/cli/plan/plan-view.ts', 'MAX_SHOWN ='],
  ['docs/plan-and-apply.md', (n) => `at most ${count(n)} characters`, 'src/cli/plan/plan-markdown.ts', 'MAX_CHARS ='],
  [
    'docs/postgresql.md',
    (n) => `polling the database every ${n / SECOND} s`,
    'src/server/pipeline/loop.ts',
    'SWEEP_MS =',
  ],
  [
    'docs/public-networks.md',
    (n) => `reserve of up to ${n / 1e6} million gas`,
    'src/server/chain/evm/cost/funding.ts',
    'RESERVE_GAS =',
  ],
  [
    'docs/public-networks.md',
    (n) => `up to ${WORDS[n]} times the usual fee`,
    'src/server/chain/evm/cost/replacement-fees.ts',
    'MAX_FEE_FACTOR =',
  ],
  [
    'docs/marketplaces.md',
    (n) => `wait of more than ${n / MINUTE} minutes`,
    'src/marketplace/opensea.ts',
    'MAX_WAIT_MS =',
  ],
  ['docs/public-networks.md', (n) => `wait up to ${n} minutes`, 'src/operations/retries.ts', 'not_ready:'],
  [
    'docs/public-networks.md',
    (n) => `gdn waits ${n / SECOND} s before`,
    'src/server/chain/evm/remote-signer/open-remote-signer.ts',
    'firstMs:',
  ],
  [
    'docs/public-networks.md',
    (n) => `up to ${n} can wait for confirmations`,
    'src/server/pipeline/evm/driver.ts',
    'MAX_UNCONFIRMED_MINTS =',
  ],
  [
    'docs/public-networks.md',
    (n) => `offers, which is ${TIMES[n]} the base fee plus`,
    'src/server/chain/evm/remote/fees.ts',
    'BASE_FEE_FACTOR =',
  ],
  ['docs/drops.md', (n) => `at ${TIMES[n]} the base fee`, 'src/server/chain/evm/remote/fees.ts', 'BASE_FEE_FACTOR ='],
  [
    'docs/public-networks.md',
    (n) => `includes ${TIMES[n]} the data fee`,
    'src/server/chain/evm/cost/network-fees.ts',
    'DATA_FEE_FACTOR =',
  ],
  [
    'docs/drops.md',
    (n) => `reserves ${TIMES[n]} the data fee`,
    'src/server/chain/evm/cost/network-fees.ts',
    'DATA_FEE_FACTOR =',
  ],
  [
    'SECURITY.md',
    (n) => `minus ${TIMES[n]} the reported fee`,
    'src/server/chain/evm/cost/network-fees.ts',
    'DATA_FEE_FACTOR =',
  ],
  [
    'docs/public-networks.md',
    (n) => `Each transaction mints up to ${n} NFTs`,
    'src/server/chain/evm/collection.ts',
    'MAX_TOKENS_PER_CALL =',
  ],
  [
    'docs/public-networks.md',
    (n) => `is final, which takes ${n} blocks`,
    'src/server/settings/schema.ts',
    'finality: blockDepthSchema.default(',
  ],
  [
    'docs/public-networks.md',
    (n) => `doubles the wait, up to ${n / SECOND} s`,
    'src/server/chain/evm/remote-signer/open-remote-signer.ts',
    'MAX_PAUSE_MS =',
  ],
  [
    'docs/public-networks.md',
    (n) => `block time over the last ${n} blocks`,
    'src/server/chain/evm/fork/start-fork.ts',
    'MEASURED_BLOCKS =',
  ],
  [
    'docs/reveal.md',
    (n) => `at most ${n - 1} metadata items, and the placeholder at most ${n - 2},`,
    'src/api/metadata.ts',
    'MAX_METADATA_ITEMS =',
  ],
  ['docs/security.md', (n) => `at most ${n} files at a time`, 'src/files/pace.ts', '= { maxConcurrent:'],
  ['docs/storage.md', (n) => `fails after ${n} attempts`, 'src/server/pipeline/file-step.ts', 'MAX_ATTEMPTS ='],
  ['docs/troubleshooting.md', (n) => `waits up to ${n} minutes and`, 'src/operations/retries.ts', 'not_ready:'],
  [
    'docs/troubleshooting.md',
    (n) => `a drop for up to ${n} minutes`,
    'src/operations/retries.ts',
    'unknown: unreachableMs,\n    rate_limited:',
  ],
  ['docs/troubleshooting.md', (n) => `waits at least ${n / SECOND} s`, 'src/sqlite/shared-database.ts', 'STUCK_MS ='],
  ['docs/wallets.md', (n) => `at least ${n} characters`, 'src/keystore/password.ts', 'MIN_NEW_PASSWORD_LENGTH ='],
  ['docs/wallets.md', (n) => `scrypt with n=${n}`, 'src/keystore/limits.ts', 'DEFAULT_SCRYPT = { n:'],
  [
    'docs/webhooks.md',
    (n) => `more than ${n / 60} minutes`,
    'src/api/webhook-events.ts',
    'SIGNATURE_TOLERANCE_SECONDS =',
  ],
  [
    'docs/webhooks.md',
    (n) => `for ${WORDS[n / 24]} days`,
    'src/server/pipeline/webhooks/schedule.ts',
    'GIVE_UP_AFTER_MS =',
  ],
  ...(
    [
      [(n) => `by more than ${n} seconds`, 'api/webhook-events.ts', 'SIGNATURE_TOLERANCE_SECONDS ='],
      [(n) => `within ${n / SECOND} seconds`, 'server/pipeline/webhooks/post.ts', 'TIMEOUT_MS ='],
      [(n) => `varies by up to ${100 * n} %`, 'core/backoff.ts', 'jitter = '],
      [(n) => `fails ${n} hours or more`, 'server/pipeline/webhooks/schedule.ts', 'GIVE_UP_AFTER_MS ='],
      [
        (n) => `failed for ${n} hours, its queued events that are older than ${n} hours`,
        'server/pipeline/webhooks/schedule.ts',
        'GIVE_UP_AFTER_MS =',
      ],
      [
        (n) => `After ${WORDS[n]} consecutive failures`,
        'server/pipeline/webhooks/schedule.ts',
        'FAILURES_BEFORE_PROBING =',
      ],
      [(n) => `pause lasts ${n} s`, 'server/pipeline/webhooks/schedule.ts', 'PAUSE_BACKOFF = { firstMs:'],
      [(n) => `up to ${n} minutes`, 'server/pipeline/webhooks/schedule.ts', 'SECOND_MS, maxMs:'],
      [
        (n) => `at most ${n} requests at once`,
        'server/pipeline/webhooks/webhook-step.ts',
        'WEBHOOK_PACE = { maxConcurrent:',
      ],
      [(n) => `at most ${1000 / n} per second`, 'server/pipeline/webhooks/webhook-step.ts', 'apartMs:'],
      [(n) => `lists a delivery for ${n / DAY} days`, 'server/pipeline/webhooks/webhook-step.ts', 'RETENTION_MS ='],
    ] as const satisfies [(n: number) => string, string, string][]
  ).map(([sentence, source, before]): Stated => ['docs/webhooks-reference.md', sentence, `src/${source}`, before]),
  [
    'docs/webhooks.md',
    (n) => `An account has at most ${n} webhooks.`,
    'src/server/admin/webhooks.ts',
    'MAX_WEBHOOKS_PER_ACCOUNT =',
  ],
  [
    'SECURITY.md',
    (n) => `${WORDS[n]} requests per second for each key`,
    'src/api/endpoints/createnft.ts',
    'ratePerSecond:',
  ],
  [
    'SECURITY.md',
    (n) => `${n / SECOND} s, 64 MiB after decompression`,
    'src/files/exchange.ts',
    'DEFAULT_FILE_TIMEOUT_MS =',
  ],
  ['SECURITY.md', (n) => `session lasts ${n / HOUR} hours`, 'src/server/explorer/session.ts', 'SESSION_LIFETIME_MS ='],
  [
    'SECURITY.md',
    (n) => `for fetching files, ${n} in each worker`,
    'src/server/pipeline/file-step.ts',
    'MAX_CONCURRENT_NFTS =',
  ],
]

/** Returns the number in a source file behind a text: a literal, or a product of literals. */
async function numberIn(source: string, before: string): Promise<number> {
  const text = await readFile(join(root, source), 'utf8')
  expect(text).toContain(before)
  const behind = text.slice(text.indexOf(before) + before.length)
  const factors = /^ *([0-9_.]+(?: \* [0-9_.]+)*)/.exec(behind)?.[1]?.split(' * ') ?? []
  return factors.reduce((product, factor) => product * Number(factor.replaceAll('_', '')), 1)
}

/** Generated pages, pages of figures, and pages for contributors. */
const NO_GUIDES = ['benchmarks.md', 'releasing.md', 'install.md']

const oneLine = (text: string) => text.replaceAll(/\s+/g, ' ')

test('numbers that pages state are those of the code', async () => {
  const wrong: string[] = []
  for (const [page, sentence, source, before] of STATED) {
    const text = oneLine(await readFile(join(root, page), 'utf8'))
    const stated = sentence(await numberIn(source, before))
    if (!text.includes(stated)) wrong.push(`${page} does not say "${stated}", as ${source} does`)
  }
  expect(wrong).toEqual([])
})

/** Numbers that aren't constants of the code: they follow from others, were measured, or belong to an example. */
const NOT_CONSTANTS = [
  ...['24 NFTs', '24 rows', '42 blocks', '12.5 %', 'within 3 %', '1.8 kB', 'after 50 ms'],
  ...['polling interval of 2 s', 'collection of 10,000 NFTs', 'collection of 100 NFTs', 'within 17 minutes'],
  // The test of the tools reads it from the page.
  ...['at most 25 tools with at most 30 kB'],
]

const NUMBER =
  /(?<![\w.,-])[\d,.]*\d (?:%|m?s|kB|MiB|seconds|minutes|hours|days|rows|NFTs|files|items|requests|blocks|characters|(?:different )?values|collections|tokens|changes|million|gas|transactions|events|tools|per (?:second|request)|annotations|slots)(?!\w)/

test('each number with a unit in the prose of a guide is in this table, or known not to be a constant', async () => {
  const pages = (await readdir(join(root, 'docs'))).filter((name) => /\.md$/.test(name) && !NO_GUIDES.includes(name))
  const left: string[] = []
  for (const page of ['SECURITY.md', ...pages.map((name) => `docs/${name}`)]) {
    let text = oneLine((await readFile(join(root, page), 'utf8')).replaceAll(/^ *```.*?^ *```$|^\|.*?$/gms, ''))
    for (const [, sentence, source, before] of STATED.filter(([of]) => of === page))
      text = text.replaceAll(sentence(await numberIn(source, before)), '')
    for (const phrase of NOT_CONSTANTS) text = text.replaceAll(phrase, '')
    for (const sentence of text.replaceAll(/`[^`]*`/g, '').split(/(?<=[.:]) /))
      if (NUMBER.test(sentence)) left.push(`${page}: ${sentence}`)
  }
  expect(left).toEqual([])
})

test('the table of marketplaces has each limit that files are checked against, with its source', async () => {
  const rows = (await readFile(join(root, 'docs/drops.md'), 'utf8')).split('\n').filter((line) => line.startsWith('| '))
  for (const { marketplace, bytes, source } of MARKETPLACE_LIMITS) {
    const [row = ''] = rows.filter((line) => line.startsWith(`| ${marketplace} |`))
    expect(row.split(' | ').slice(2)).toEqual([`${bytes / 1_000_000} MB`, `<${source}> |`])
  }
})

test('the README counts the EVM networks that are built in', async () => {
  expect(await readFile(join(root, 'README.md'), 'utf8')).toContain(`for ${KNOWN_EVM_NAMES.length} EVM networks`)
})

test('the guides name the flag for the order of token IDs', async () => {
  expect(await readFile(join(root, 'docs/drops.md'), 'utf8')).toContain('`--in-order`')
})
