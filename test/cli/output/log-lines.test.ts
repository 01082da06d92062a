import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { createIo, type IoSettings } from '../../../src/cli/io/io.ts'

const SETTINGS: IoSettings = { machine: false, quiet: false, debug: false, input: false, noColor: true }

async function logged(line: string, isTTY: boolean): Promise<string> {
  let text = ''
  const stderr = Object.assign(
    new Writable({
      write(chunk, _encoding, done) {
        text += String(chunk)
        done()
      },
    }),
    { isTTY, columns: 80 },
  )
  const io = await createIo({ env: {}, stdin: process.stdin, stdout: stderr, stderr }, SETTINGS)
  io.log(line)
  return text
}

test('escapes a log line on a terminal without changing its JSON value', async () => {
  // JSON escapes neither the C1 introducer nor bidirectional controls.
  const event = { msg: 'a node failed: \u009b31m\u202etxt' }
  const shown = await logged(`${JSON.stringify(event)}\n`, true)
  expect(shown).not.toMatch(/[\u0080-\u009f\u202e]/)
  expect(shown.endsWith('\n')).toBe(true)
  expect(JSON.parse(shown)).toEqual(event)
})

test('prints a log line unchanged if stderr is not a terminal', async () => {
  const line = `${JSON.stringify({ msg: '\u009b31m' })}\n`
  expect(await logged(line, false)).toBe(line)
})
