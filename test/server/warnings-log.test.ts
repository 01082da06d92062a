import { expect, test } from 'vitest'
import { createWarningsLog } from '../../src/server/warnings-log.ts'

const WAITS = 'the network is unavailable, and its work is delayed'
const FAILED = 'a pipeline step failed and will be retried'

function people() {
  const lines: string[] = []
  const clock = { ms: 0 }
  const log = createWarningsLog(
    (line) => void lines.push(line),
    () => clock.ms,
  )
  return { lines, log, clock }
}

test('prints a state once, and again when it changes or after ten minutes', () => {
  const { lines, log, clock } = people()
  log.warn({ blockchain: 'base', reason: '0.5 ETH is missing' }, WAITS)
  log.warn({ blockchain: 'base', reason: '0.51 ETH is missing' }, WAITS)
  log.warn({ blockchain: 'base', reason: 'no node responds' }, WAITS)
  log.warn({ blockchain: 'base' }, 'the network is available again')
  log.warn({ blockchain: 'base', reason: 'no node responds' }, WAITS)
  expect(lines).toEqual([
    `base: ${WAITS}: 0.5 ETH is missing`,
    `base: ${WAITS}: no node responds`,
    'base: the network is available again',
    `base: ${WAITS}: no node responds`,
  ])
  clock.ms += 10 * 60_000
  log.warn({ blockchain: 'base', reason: 'no node responds' }, WAITS)
  expect(lines).toHaveLength(5)
})

test('does not print a reason again for each step that meets it', () => {
  const { lines, log } = people()
  log.warn({ blockchain: 'base', reason: 'no node responds' }, WAITS)
  log.error({ step: 'mint base', error: 'no node responds' }, FAILED)
  log.error({ step: 'files', error: 'the disk is full' }, FAILED)
  expect(lines).toEqual([`base: ${WAITS}: no node responds`, `${FAILED}: the disk is full`])
})

test('prints only warnings and errors, and none that gdn serve prints at its start', () => {
  const { lines, log } = people()
  log.debug({}, 'a')
  log.info({}, 'b')
  log.warn({}, 'c')
  log.warn({}, 'fault injection is on')
  log.error({}, 'd')
  expect(lines).toEqual(['c', 'd'])
})

test('prints no secret and no control character, and cuts a long text', () => {
  const { lines, log } = people()
  const hostile = `https://user:hunter2@node.example/?token=hunter2 said \u001b[2J\nerror: all is well ${'x'.repeat(5000)}`
  log.error({ error: hostile }, 'a node failed')
  const [line = ''] = lines
  expect(line).toMatch(/^a node failed: https:\/\/\[redacted\]@node\.example/)
  expect(line).not.toMatch(/hunter2|[\u0000-\u001f]/)
  expect(line.length).toBeLessThan(1100)
})
