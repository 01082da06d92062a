import { rm } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type EchoServer, startEchoServer } from '../helpers/canary/echo-server.ts'
import {
  COMMANDS,
  combinations,
  FAULTS,
  makeTemplate,
  type Outcome,
  runCombination,
  type World,
} from '../helpers/canary/runs.ts'
import { found } from '../helpers/canary/spellings.ts'
import { report, seededRandom } from '../helpers/seed.ts'
import { createSmallDisk, type SmallDisk } from '../helpers/small-disk.ts'

/** Every command without a fault and some with one. The long form: every pair of both, and more. */
const COUNT = process.env.GDN_SOAK === '1' ? COMMANDS.length * (FAULTS.length + 1) : COMMANDS.length + 40
const AT_ONCE = 4
const TIME = { timeout: process.env.GDN_SOAK === '1' ? 3_600_000 : 180_000 }

let server: EchoServer
let disk: SmallDisk | string
let template = ''
beforeAll(async () => {
  server = await startEchoServer()
  disk = await createSmallDisk(64)
  if (typeof disk === 'string') report(`the disk is not full: ${disk}`)
  else await disk.fill()
  template = await makeTemplate(server)
})
afterAll(async () => {
  await server.close()
  await rm(template, { recursive: true, force: true })
  if (typeof disk !== 'string') await disk.remove()
})

test(`leaks no secret in ${COUNT} combinations of command, output mode and fault`, TIME, async () => {
  const { random } = seededRandom('canary')
  const world: World = { server, template, smallDisk: typeof disk === 'string' ? null : disk }
  const todo = combinations(COUNT, random)
  const begun = performance.now()
  const ends = new Map<string, number>()
  const leaks: string[] = []
  const failures: string[] = []
  let searched = 0
  const queue = todo.values()
  const work = async () => {
    for (const combination of queue) {
      const outcome: Outcome = await runCombination(world, combination)
      searched += outcome.searched
      ends.set(outcome.ended, (ends.get(outcome.ended) ?? 0) + 1)
      const { command, mode, debug, fault } = combination
      const title = `gdn ${[...command.argv, ...mode].join(' ')} (debug: ${debug}; ${fault})`
      for (const leak of outcome.leaks) leaks.push(`${title}: ${leak}`)
      if (outcome.failure !== null) failures.push(`${title}: ${outcome.failure}`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  const pairs = new Set(todo.map(({ command, fault }) => `${command.argv.join(' ')} ${fault}`)).size
  report({
    combinations: todo.length,
    pairs_of_command_and_fault: pairs,
    searched,
    leaks: leaks.length,
    failures: failures.length,
    seconds: Math.round((performance.now() - begun) / 1000),
    ended_with: Object.fromEntries([...ends].sort()),
  })
  expect(leaks).toEqual([])
  // A command that stops early has no secret to leak.
  expect(failures).toEqual([])
})

test.each([
  ['as it is', (secret: string) => `key ${secret}!`],
  ['in hexadecimal', (secret: string) => Buffer.from(secret).toString('hex')],
  ['in base64 of a longer text', (secret: string) => Buffer.from(`a ${secret} b`).toString('base64')],
  ['truncated to half', (secret: string) => `"${secret.slice(0, 18)}…`],
  ['in a URL', (secret: string) => encodeURIComponent(secret)],
  ['in JSON', (secret: string) => JSON.stringify({ secret })],
  ['backwards', (secret: string) => [...secret].reverse().join('')],
])('the search finds a secret %s', (_how, put) => {
  const secret = 'Key-0123456789abcdef/+="<&%Zz'
  expect(found(Buffer.from(`lorem ${put(secret)} ipsum`), secret)).not.toBeNull()
  expect(found(Buffer.from('lorem ipsum [redacted]'), secret)).toBeNull()
})
