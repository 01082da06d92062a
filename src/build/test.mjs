// `npm test` and `npm run test:rest`: runs a suite, and prints its duration and the omitted tests.
import { readFileSync } from 'node:fs'
import { CORE } from './suites.mjs'
import { runTests } from './vitest.mjs'

/** Maximum CPU time of `npm test` in core-seconds. On two cores, this is less than three minutes. */
const BUDGET = 330

const SUITES = {
  core: {
    projects: ['core', 'isolated'],
    args: [`--tags-filter=${CORE}`],
    leftOut:
      'slow tests, kills, PostgreSQL and the package (`npm run test:rest`; vitest counts many of them as skipped), browsers, shells and chaos (`npm run test:all`)',
  },
  rest: {
    projects: ['core', 'isolated', 'long', 'postgres'],
    args: [],
    leftOut:
      'what `npm test` runs, browsers, shells, containers and chaos (`npm run test:all`), and soak tests (`npm run soak`)',
  },
}

/** Returns the CPU time of all ended child processes, in core-seconds; null if the system doesn't report them. */
function usedByChildren() {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1].split(' ')
    // cutime and cstime of proc(5), in hundredths of a second.
    return (Number(fields[13]) + Number(fields[14])) / 100
  } catch {
    return null
  }
}

const [name, ...given] = process.argv.slice(2)
const { projects, args, leftOut } = SUITES[name]
const passed = await runTests(projects, { args: [...args, ...given], env: { GDN_SUITE: name } })
const used = usedByChildren()
const took =
  used === null ? '' : `CPU time: ${Math.round(used)} core-seconds${name === 'core' ? ` of ${BUDGET}` : ''}\n`
process.stdout.write(`${took}Left out: ${leftOut}\n`)
process.exitCode = passed ? 0 : 1
