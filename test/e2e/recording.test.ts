/** @module-tag slow */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { screenshots } from '../../src/build/record/screenshots.mjs'
import { recordSession, SCREEN } from '../../src/build/record/session.mjs'
import type { Run } from '../../src/build/record/svg.mjs'
import { Recorder } from '../../src/build/record/terminal.mjs'
import { makeHome } from '../helpers/gdn.ts'
import { startHttpServer } from '../helpers/http-server.ts'
import { HAS_PTY } from '../helpers/terminal.ts'

const SVG = join(import.meta.dirname, '../../.github/media/session.svg')
const ENTITIES: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"' }

/** Text without what differs from run to run: numbers, addresses, the ID of the run, the length of progress bars. */
const shape = (text: string) =>
  text
    .trim()
    .replace(/drop-[0-9a-f]{4}/g, 'drop-…')
    .replace(/0x[0-9a-fA-F]{40}/g, '0x…')
    .replace(/\d+/g, 'N')
    .replace(/([█▒·])\1+/g, '$1')

test('screenshots of an explorer that can not be read are an error', async () => {
  const server = await startHttpServer([{ status: 401 }])
  onTestFinished(() => server.close())
  await expect(screenshots(server.url, 'nft-1', '/nonexistent')).rejects.toThrow(
    `no screenshots: ${server.url}/explorer/nfts/nft-1 returned 401`,
  )
})

/** Records the session in a new home, and returns the shapes of everything that was on the screen. */
async function record(): Promise<string[]> {
  const home = await makeHome()
  onTestFinished(() => home.remove())
  await home.json(['local', 'start'])
  onTestFinished(async () => void (await home.run(['local', 'stop'])))
  const env = { ...home.env, TERM: 'xterm-256color', LANG: 'C.UTF-8', GDN_PROFILE: 'local', GDN_BLOCKCHAIN: 'polygon' }
  const recorder = new Recorder(SCREEN.columns, SCREEN.rows, { closerMs: 0 })
  await recordSession(recorder, env, async (...args) => (await home.run(args, { env })).stdout)
  return recorder.frames.flatMap(({ lines }) => lines.flat().map(({ text }: Run) => shape(text)))
}

test.skipIf(!HAS_PTY)('each line of the recorded session of the README is what the commands print', async () => {
  const svg = await readFile(SVG, 'utf8')
  const shown = [...svg.matchAll(/<text [^>]*>([^<]*)<\/text>/g)].map(([, text = '']) =>
    shape(text.replace(/&\w+;/g, (entity) => ENTITIES[entity] ?? entity)),
  )
  expect(shown).toContain('Killed')
  expect(shown).toContain('N rows: N deployed')
  const missing = new Set(shown)
  // Where the chain is done sooner than the terminal is drawn, a session has no line about waiting for it.
  for (let session = 1; session <= 3 && missing.size > 0; session++) {
    for (const line of await record()) missing.delete(line)
  }
  expect([...missing]).toEqual([])
})

test('the recorded session of the README takes at most 12 s, and counts the rows of its drop', async () => {
  const svg = await readFile(SVG, 'utf8')
  const [, seconds] = /animation:([\d.]+)s/.exec(svg) ?? []
  expect(Number(seconds)).toBeGreaterThan(0)
  expect(Number(seconds)).toBeLessThanOrEqual(12)
  const drop = await readFile(join(import.meta.dirname, '../../examples/drop.csv'), 'utf8')
  const rows = drop.trimEnd().split('\n').length - 1
  // The last command prints the number of NFTs, which its comment and the title repeat.
  expect(svg).toContain(`>${rows}<`)
  const stated = [...svg.matchAll(/(?:(\d+) of|All) (\d+)(?: are minted)?, none twice/g)].map(([, n, of]) => [
    n ?? of,
    of,
  ])
  expect(new Set(stated.flat())).toEqual(new Set([String(rows)]))
  expect(stated.length).toBeGreaterThan(1)
})
