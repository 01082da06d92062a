/** @module-tag slow */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { freshDataDir, WALLETS, withStore } from '../helpers/backend.ts'
import { gdnAt } from '../helpers/gdn-at.ts'
import { report, seededRandom } from '../helpers/seed.ts'
import { serve } from '../helpers/served-backend.ts'

interface Nft {
  receiver_wallet_address: string
  request_metadata: { title: string; description: string }
}

const ROUNDS = 3
const KILLS = 4
const MAX_MS = 3_000
const ROWS = 30

test('gdn apply that is killed makes each change once, on any machine', async () => {
  const { random } = seededRandom('apply')
  const folder = await freshDataDir()
  const backend = await serve(folder.path, ['--rate-limits', 'off']).ready
  let isOver = false
  const stop = async () => {
    if (!isOver) await backend.end('SIGTERM')
    isOver = true
  }
  const homes = [await mkdtemp(join(tmpdir(), 'gdn-apply-')), await mkdtemp(join(tmpdir(), 'gdn-apply-'))]
  onTestFinished(async () => {
    await stop()
    await folder.remove()
    for (const home of homes) await rm(home, { recursive: true, force: true })
  })
  const machines = homes.map((home) => gdnAt(backend, home))
  const [first] = machines
  if (first === undefined) throw new Error('no machine')
  const created = await first.json<{ contract_address: string }>(
    ...[
      'collection',
      'create',
      '--name',
      'Shared',
      '-b',
      'polygon',
      '--wallet',
      WALLETS[0],
      '--enable-transfer',
      '--dynamic',
    ],
  )
  const owners: string[] = []
  const texts: string[] = []
  let moved = 0
  let edited = 0
  let killed = 0
  for (let round = 0; round < ROUNDS; round++) {
    for (const [row, owner] of owners.entries()) {
      if (random() < 0.5) {
        texts[row] = `text of round ${round}`
        edited++
      }
      if (random() < 0.5) continue
      owners[row] = WALLETS[(WALLETS.indexOf(owner as (typeof WALLETS)[number]) + 1) % WALLETS.length] ?? ''
      moved++
    }
    for (let row = 0; row < ROWS / ROUNDS; row++) {
      owners.push(WALLETS[row % 2] ?? '')
      texts.push('x')
    }
    const text = [
      'id,title,description,receiver',
      ...owners.map((owner, row) => `r${row},Title ${row},${texts[row]},${owner}`),
    ]
    const runs = await Promise.all(
      machines.map(
        async (gdn) =>
          [gdn, ['apply', await gdn.file('drop.csv', text.join('\n')), '-c', created.contract_address]] as const,
      ),
    )
    for (let life = 0; life < KILLS; life++) {
      const picked = runs[Math.floor(random() * runs.length)]
      if (picked === undefined) throw new Error('no machine')
      const [gdn, argv] = picked
      if ((await gdn.runAndKill([...argv, '--yes'], Math.floor(random() * MAX_MS))).signal === 'SIGKILL') killed++
    }
    for (const [gdn, argv] of runs) {
      const { exitCode, stderr } = await gdn.run(...argv, '--yes')
      expect(exitCode, stderr).toBe(0)
      expect(await gdn.json('plan', ...argv.slice(1))).toEqual([])
    }
  }
  const nfts = await first.json<Nft[]>('nft', 'list', '-c', created.contract_address)
  const byTitle = new Map(nfts.map((nft) => [nft.request_metadata.title, nft.receiver_wallet_address]))
  expect(nfts).toHaveLength(ROWS)
  expect(owners.map((_, row) => byTitle.get(`Title ${row}`))).toEqual(owners)
  const byText = new Map(nfts.map(({ request_metadata: { title, description } }) => [title, description]))
  expect(texts.map((_, row) => byText.get(`Title ${row}`))).toEqual(texts)
  await stop()
  const { rows } = await withStore(folder.path, ({ db }) =>
    sql<{ n: number }>`select count(*) as n from transfers where status = 'deployed'
      union all select count(*) from updates where status = 'deployed'`.execute(db),
  )
  report({ killed, moved, edited })
  expect(rows.map(({ n }) => Number(n))).toEqual([moved, edited])
  expect(killed).toBeGreaterThan(0)
})
