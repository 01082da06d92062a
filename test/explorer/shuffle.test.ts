import { describe, expect, test } from 'vitest'
import { signRound } from '../../src/api/beacon.ts'
import { shuffleState } from '../../src/explorer/parts/shuffle-text.ts'
import { identifyBeacon } from '../../src/server/explorer/shuffle.ts'
import type { ExplorerShuffle } from '../../src/server/explorer/types.ts'
import { ROUNDS } from '../helpers/quicknet-rounds.ts'

const [{ round, signature }] = ROUNDS

describe('the beacon of a revealed NFT', () => {
  test('is drand only if the metadata has its signature of the round', async () => {
    const named = Buffer.from(signRound(Buffer.alloc(32, 7), round)).toString('hex')
    const flipped = `${signature.slice(0, -1)}${signature.endsWith('0') ? '1' : '0'}`
    expect(await identifyBeacon({ provenance_signature: signature }, round)).toBe('drand-quicknet')
    expect(await identifyBeacon({ provenance_signature: signature }, round + 1)).toBe('other')
    for (const other of [named, flipped])
      expect(await identifyBeacon({ provenance_signature: other }, round)).toBe('other')
  })

  test('is unknown without a signature or a round', async () => {
    for (const metadata of [{}, null, 'x', { provenance_signature: 'ab' }, { provenance_signature: [signature] }]) {
      expect(await identifyBeacon(metadata, round)).toBeNull()
    }
    expect(await identifyBeacon({ provenance_signature: signature }, null)).toBeNull()
  })
})

const time = '2026-01-02T03:04:05.000Z'
const commitment = { hash: '0x1', transaction_hash: null, explorer_url: null, block_number: 7, time }
const sealed: ExplorerShuffle = {
  slot: 1,
  rows: 2,
  is_revealed: false,
  leaves_path: '/ipfs/x',
  commitment,
  seal: commitment,
  round: { number: 9, time, url: 'https://api.drand.sh/x' },
  beacon: null,
  is_simulated: false,
}

describe('the text about a shuffled drop', () => {
  test('names the seal, and says what is drawn and when', () => {
    const open = shuffleState({ ...sealed, seal: null, round: null })
    expect(open).toContain('the drop is sealed, so no more NFTs of the drop can be minted')
    expect(shuffleState(sealed)).toContain(
      'The time of the round is 2026-01-02 03:04:05 UTC, which is after the drop was sealed (block 7, 2026-01-02 03:04:05 UTC).',
    )
    expect(shuffleState({ ...sealed, round: null })).toContain(
      'The content of each NFT is determined after the drop was sealed',
    )
  })

  test('credits drand only with draws that it signed', () => {
    const drawn = shuffleState({ ...sealed, is_revealed: true, beacon: 'drand-quicknet' })
    expect(drawn).toContain(
      'determined the content of this NFT, so nobody chose it. The round was published at 2026-01-02',
    )
    const rehearsed = shuffleState({ ...sealed, is_revealed: true, beacon: 'other' })
    expect(rehearsed).toContain('This draw is a rehearsal: the signature in the metadata is not from drand')
    expect(rehearsed).not.toMatch(/published|nobody/)
    const unsigned = shuffleState({ ...sealed, is_revealed: true })
    expect(unsigned).toContain('does not contain the signature of the round')
    expect(unsigned).not.toMatch(/published|nobody/)
  })
})
