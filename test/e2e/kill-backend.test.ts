import { it } from 'vitest'
import { killDrop } from '../helpers/kill-drop.ts'
import { report, seededRandom } from '../helpers/seed.ts'

it('a drop of 200 NFTs survives 30 SIGKILLs of the backend: each token once, all deployed, state replayed', async () => {
  const { random } = seededRandom('kill-backend')
  report(await killDrop({ nfts: 200, kills: 30, random }))
})
