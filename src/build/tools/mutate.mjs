// `npm run mutate [-- [--core] [--one-line-in <n>] <group> …]`: runs mutation tests of the code that implements gdn's
// guarantees. Changes the code in one place at a time, runs the tests of its group, and prints how many changes make a
// test fail. First runs the tests of `npm test`, and then the other tests on the surviving changes. With --core, runs
// only the tests of `npm test`. With --one-line-in, changes only every nth line, and omits changes of several lines.
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Stryker } from '@stryker-mutator/core'
import { root } from '../paths.mjs'

/**
 * Groups have their own tests, because a change of a constant runs all tests of its group. `rest`: tests of the same
 * code that `npm test` does not run. They run the code in the test process, because changes exist only there.
 */
const GROUPS = {
  operations: {
    code: ['src/operations/{leased-run,journal,new-request,operate,repeatable,retries,send,unknown-outcome}.ts'],
    tests: ['test/operations/{copies,leased-run,operate,repeatable,send}.test.ts'],
    rest: ['test/operations/random-faults.test.ts', 'test/cli/nft/transfer.test.ts'],
  },
  'batch-send': {
    code: ['src/batch/send/{attempts,request-queue,send}.ts'],
    tests: ['test/batch/{outcomes,run}.test.ts'],
    rest: ['test/batch/random-faults.test.ts', 'test/cli/batch/report.test.ts'],
  },
  'batch-classify': {
    code: ['src/operations/classify.ts'],
    tests: ['test/operations/classify.test.ts'],
    rest: ['test/batch/random-faults.test.ts'],
  },
  'batch-claim': {
    code: ['src/batch/identity/claim.ts'],
    tests: ['test/batch/{claim,edited-rows}.test.ts', 'test/plan/make-plan.test.ts'],
    rest: ['test/batch/random-faults.test.ts', 'test/cli/batch/dry-run.test.ts'],
  },
  'client-state': {
    code: ['src/state/{transitions,row-outcomes}.ts'],
    tests: [
      'test/operations/{operate,send}.test.ts',
      'test/batch/{claim,outcomes}.test.ts',
      'test/state/open-state.test.ts',
    ],
    rest: ['test/{batch,operations}/random-faults.test.ts'],
  },
  responses: {
    code: ['src/client/{outcome,responses,attempt}.ts'],
    tests: [
      'test/client/{client,responses}.test.ts',
      'test/operations/{operate,send}.test.ts',
      'test/batch/outcomes.test.ts',
    ],
  },
  'server-state': {
    code: ['src/server/state/{collections,nfts,transactions,transfers}.ts'],
    // Omits transitions.test.ts, which would use all features for each mutant.
    tests: [
      'test/server/state/writes.test.ts',
      'test/server/store/{leases,transfers}.test.ts',
      'test/server/webhooks/outbox.test.ts',
    ],
    rest: [
      'test/server/transfers/transfernft.test.ts',
      'test/server/updates/reorg.test.ts',
      'test/server/webhooks/events.test.ts',
    ],
  },
  permissions: {
    code: ['src/server/http/auth.ts', 'src/server/services/authenticate.ts'],
    tests: ['test/server/http/{exposure,permissions}.test.ts'],
    rest: ['test/server/explorer/access.test.ts', 'test/server/http/hostile.test.ts'],
  },
  'rate-limit': {
    code: ['src/server/http/{rate-limits,memory-limiter}.ts'],
    tests: ['test/server/http/rate-limits.test.ts'],
  },
  'signed-urls': {
    code: [
      'src/wallet/signed-url.ts',
      'src/server/services/{signed-url,get-presigned-url,create-wallet}.ts',
      'src/server/store/signed-urls.ts',
    ],
    tests: [
      'test/wallet/signed-url.test.ts',
      'test/server/http/presigned-url.test.ts',
      'test/server/services/signed-url.test.ts',
    ],
    rest: ['test/server/http/wallet.test.ts'],
  },
  'imported-keys': {
    code: ['src/wallet/{derivation-path,mnemonic,new-key,read-key,store-key}.ts', 'src/keystore/solana-key.ts'],
    tests: ['test/wallet/{read-key,store-key}.test.ts', 'test/keystore/solana.test.ts'],
  },
  addresses: {
    code: ['src/files/address.ts'],
    tests: ['test/files/address.test.ts'],
  },
  'file-urls': {
    code: ['src/files/target.ts'],
    tests: ['test/files/{target,canary}.test.ts'],
    rest: ['test/files/fetcher.test.ts'],
  },
  redaction: {
    code: ['src/core/{redact,secret}.ts'],
    tests: ['test/core/{excerpt,redact,secret}.test.ts'],
    rest: ['test/cli/output/hostile-text.test.ts'],
  },
  plan: {
    code: ['src/plan/{apply-burns,apply-transfers,apply-updates,saved-changes}.ts'],
    tests: ['test/plan/{apply-transfers,apply-updates,make-plan,saved-changes}.test.ts'],
    rest: ['test/plan/restored-burns.test.ts'],
  },
  reveal: {
    code: ['src/reveal/{leaves,plan-reveal}.ts'],
    tests: ['test/reveal/{leaves,plan-reveal}.test.ts'],
  },
  mcp: {
    code: ['src/cli/mcp/{plans,spending}.ts'],
    tests: ['test/cli/mcp/{permit,permitted-limit,plans,spending}.test.ts'],
  },
  cost: {
    code: [
      'src/cli/cost/{limit,worst-case}.ts',
      'src/server/chain/evm/cost/run-{budget,fee}.ts',
      'src/server/services/limit-cost.ts',
    ],
    tests: [
      'test/cli/cost/max-cost.test.ts',
      'test/cli/mcp/spending.test.ts',
      'test/server/http/{max-cost,max-cost-of-changes}.test.ts',
      'test/server/chain/evm/cost/run-fee.test.ts',
      'test/server/pipeline/{limit-fees,max-cost-property}.test.ts',
      'test/server/services/limit-cost.test.ts',
    ],
    rest: [
      'test/cli/cost/{funding,max-fee}.test.ts',
      'test/cli/chain/public-network.test.ts',
      'test/server/pipeline/{limited-run,max-fee}.test.ts',
    ],
  },
  webhooks: {
    code: ['src/server/pipeline/webhooks/{post,schedule,signature,webhook-step}.ts'],
    tests: ['test/server/webhooks/{outbox,schedule,signature,update,url}.test.ts'],
    rest: ['test/server/webhooks/{delivery,events,many,post,reorg}.test.ts'],
  },
}

/** Folder for reports and copies of the project. In node_modules, the copies would not be compiled. */
const FOLDER = '.stryker'

/** Returns the files of a pattern with at most one list in braces. */
function filesOf(pattern) {
  const [, head = '', list = pattern, tail = ''] = /^(.*)\{(.*)\}(.*)$/.exec(pattern) ?? []
  return list.split(',').map((part) => `${head}${part}${tail}`)
}

/** Returns every nth line of files, in Stryker's notation. */
function sampleOf(code, n) {
  const lines = code.flatMap(filesOf).flatMap((file) => {
    const { length } = readFileSync(join(root, file), 'utf8').split('\n')
    return Array.from({ length }, (_, index) => `${file}:${index + 1}-${index + 1}`)
  })
  return lines.filter((_, index) => index % n === n - 1)
}

/**
 * @param isCore whether to run only the tests of `npm test`. Otherwise, all tests run on the changes that survived the
 * tests of `npm test`.
 */
async function mutate(name, isCore, oneLineIn) {
  const { code, tests, rest = [] } = GROUPS[name]
  const report = oneLineIn === 1 ? name : `${name}-${oneLineIn}`
  process.env.GDN_SUITE = isCore ? 'core' : ''
  process.env.GDN_MUTATE_TESTS = [...tests, ...(isCore ? [] : rest)].join('\n')
  return await new Stryker({
    mutate: oneLineIn === 1 ? code : sampleOf(code, oneLineIn),
    // Messages and SQL aren't changed: the wording of messages isn't a promise, and changed SQL always fails a test.
    mutator: { excludedMutations: ['StringLiteral'] },
    testRunner: 'vitest',
    vitest: { configFile: 'test/mutate.config.ts', related: false },
    coverageAnalysis: 'perTest',
    concurrency: Number(process.env.GDN_MUTATE_WORKERS ?? availableParallelism()),
    timeoutMS: 20_000,
    dryRunTimeoutMinutes: 20,
    incremental: true,
    incrementalFile: `${FOLDER}/incremental/${report}.json`,
    force: isCore,
    tempDirName: FOLDER,
    cleanTempDir: 'always',
    ignorePatterns: ['dist', 'docs'],
    disableTypeChecks: false,
    // Stryker reads this file with TypeScript's API, which version 7 lacks.
    tsconfigFile: 'none',
    reporters: ['json', 'html', ...(process.stdout.isTTY ? ['progress'] : [])],
    jsonReporter: { fileName: `${FOLDER}/reports/${report}.json` },
    htmlReporter: { fileName: `${FOLDER}/reports/${report}.html` },
    allowConsoleColors: false,
    logLevel: 'warn',
    warnings: { slow: false },
  }).runMutationTest()
}

const KILLED = ['Killed', 'Timeout']
const COUNTED = [...KILLED, 'Survived', 'NoCoverage']

/**
 * Runs the mutation tests of a group. Counts the mutants, those that any test kills, and those that the tests of `npm
 * test` kill (`core`).
 */
async function measure(name, isCore, oneLineIn) {
  const start = performance.now()
  const count = (found, statuses) => found.filter(({ status }) => statuses.includes(status)).length
  const core = await mutate(name, true, oneLineIn)
  const all = isCore || GROUPS[name].rest === undefined ? core : await mutate(name, false, oneLineIn)
  return {
    mutants: count(all, COUNTED),
    killed: count(all, KILLED),
    core: count(core, KILLED),
    timeouts: count(all, ['Timeout']),
    seconds: (performance.now() - start) / 1000,
  }
}

function print(name, { mutants, killed, core, timeouts, seconds }) {
  const score = ((100 * killed) / mutants).toFixed(1)
  process.stdout.write(
    `| ${name} | ${mutants} | ${killed} | ${score} % | ${core} | ${timeouts} | ${Math.round(seconds)} s |\n`,
  )
}

async function main(args) {
  const { values, positionals: groups } = parseArgs({
    args,
    allowPositionals: true,
    options: { core: { type: 'boolean' }, 'one-line-in': { type: 'string', default: '1' } },
  })
  const oneLineIn = Number(values['one-line-in'])
  if (!Number.isInteger(oneLineIn) || oneLineIn < 1) {
    process.stderr.write('--one-line-in: must be a positive integer\n')
    return 2
  }
  const unknown = groups.filter((name) => GROUPS[name] === undefined)
  if (unknown.length > 0) {
    process.stderr.write(`unknown group ${unknown.join(', ')}: must be one of ${Object.keys(GROUPS).join(', ')}\n`)
    return 2
  }
  const total = { mutants: 0, killed: 0, core: 0, timeouts: 0, seconds: 0 }
  process.stdout.write(
    '| Group | Mutants | Killed | Score | With --core | By time limit | Time |\n|---|---|---|---|---|---|---|\n',
  )
  for (const name of groups.length > 0 ? groups : Object.keys(GROUPS)) {
    const group = await measure(name, values.core, oneLineIn)
    for (const key of Object.keys(total)) total[key] += group[key]
    print(name, group)
  }
  print('all', total)
  return 0
}

process.exitCode = await main(process.argv.slice(2))
