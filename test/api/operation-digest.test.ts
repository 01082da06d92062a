import { describe, expect, it } from 'vitest'
import { operationDigest } from '../../src/api/operation-digest.ts'

const RECEIVER = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'
const SENDER = '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB'
const SOLANA = '4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T'
const PLAIN = { title: 'Dawn', description: 'The first of ten', file_fields: [] }
const RICH = {
  title: 'Été 🌅',
  description: '',
  file_fields: [{ key: 'image', url: 'ipfs://bafy/1.png' }],
  ...{ 10: 'ten', 9: 'nine', Background: 'Blue' },
  attribute: [{ tag: 'Eyes', value: '"Laser"\n' }],
}
const sent = { receiver_wallet_address: RECEIVER, sender_wallet_address: SENDER }

// Made with Python: json.dumps(fields, sort_keys=True, separators=(',', ':'), ensure_ascii=False), then hashlib.sha256.
// Databases store these digests permanently: never change a vector. A new definition gets a new version.
it.each([
  [
    'an NFT',
    operationDigest('createnft', { metadata: PLAIN, receiver_wallet_address: RECEIVER }),
    'ab787a3cd7b6fa13f274bc8d08b11463446670e8351c146b60330c9c8372bfd6',
  ],
  [
    'an NFT with files, attributes, extra keys and text in Unicode',
    operationDigest('createnft', { metadata: RICH, receiver_wallet_address: RECEIVER }),
    '7b4749a5fdc2146cae4da61afa48763f21e202bd04b7b376365c6a341027e086',
  ],
  [
    'an NFT on Solana',
    operationDigest('createnft', { metadata: PLAIN, receiver_wallet_address: SOLANA }),
    '4b400b33a93e444bd793831fa649803bd746283faca36698c49665a5452c3d6e',
  ],
  [
    'an NFT that is transferred in the same step',
    operationDigest('createnfttrans', { metadata: PLAIN, ...sent }),
    '1bd97ff9ba5c96e3de18946a40046596c9e0fb0b57956aabc77b99b4098b117e',
  ],
  [
    'an NFT that is transferred in the same step, by the owner of its collection (v1.2)',
    operationDigest('createnfttrans', { metadata: PLAIN, receiver_wallet_address: RECEIVER }),
    'ab787a3cd7b6fa13f274bc8d08b11463446670e8351c146b60330c9c8372bfd6',
  ],
  [
    'a transfer',
    operationDigest('transfernft', { nft_gdn_id: '0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d', ...sent }),
    'dccd1d23cea812c14a32bc40d649835a9c67de0c4ea58d420abd5048f1652d46',
  ],
  [
    'a collection with the default flags',
    operationDigest('createcollection', { wallet_address: RECEIVER, name: 'First light', blockchain: 'polygon' }),
    'd7919eb360e73fdb1949888b34eccdd4b2196a657cb75e636f0b6cfcf0826ec6',
  ],
  [
    'a collection on Solana with every field',
    operationDigest('createcollection', {
      ...{ wallet_address: SOLANA, name: 'First light', blockchain: 'solana', description: 'd', image: 'ipfs://bafy' },
      ...{ enable_api: true, enable_transfer: true, is_locked: true },
    }),
    '311b75e510ef89a150ba290ebf34728a0f4852db9d05ad70edc132f52342a3ea',
  ],
  [
    'an NFT for an ENS name',
    operationDigest('createnft', { metadata: PLAIN, receiver_wallet_address: RECEIVER, receiver_name: 'alice.eth' }),
    '77cee04a05481a53449f7a675ce7aa672336e488b20d629be1a0475d021d8837',
  ],
  [
    'a transfer to an ENS name',
    operationDigest('transfernft', { nft_gdn_id: 'nft-1', ...sent, receiver_name: 'alice.eth' }),
    '233559b7a207e25aae389ee9e3c258677b224aaf78c5a48f19af4574c371689f',
  ],
])('matches the golden vector for the digest of %s', (_, digest, golden) => {
  expect(digest).toBe(`v1:${golden}`)
})

describe('the digest', () => {
  const digest = (metadata: Record<string, unknown>, receiver = RECEIVER) =>
    operationDigest('createnft', { metadata, receiver_wallet_address: receiver })

  it('does not depend on the order of keys, white space, or the case of EVM addresses', () => {
    const { title, ...others } = RICH
    const reordered = JSON.parse(JSON.stringify({ ...others, title }, null, 4))
    expect(digest(reordered, RECEIVER.toLowerCase())).toBe(digest(RICH))
    expect(digest(RICH, `0x${RECEIVER.slice(2).toUpperCase()}`)).toBe(digest(RICH))
    const [royalty, lower] = [RECEIVER, RECEIVER.toLowerCase()].map((royalty_receiver) =>
      operationDigest('createcollection', {
        ...{ wallet_address: RECEIVER, name: 'First light', blockchain: 'polygon', royalty_bps: 500 },
        royalty_receiver,
      }),
    )
    expect(royalty).toBe(lower)
  })

  it('differs if metadata, receiver or sender differ', () => {
    const others = [
      digest({ ...PLAIN, title: 'dawn' }),
      digest({ ...PLAIN, extra: '' }),
      digest({ ...PLAIN, file_fields: [{ key: 'image', url: 'ipfs://a' }] }),
      digest({ ...PLAIN, file_fields: [{ key: 'image', url: 'ipfs://b' }] }),
      digest(PLAIN, SENDER),
      digest(PLAIN, SOLANA),
      digest(PLAIN, SOLANA.toLowerCase()),
      operationDigest('createnfttrans', { metadata: PLAIN, ...sent }),
      operationDigest('createnfttrans', { metadata: PLAIN, ...sent, sender_wallet_address: RECEIVER }),
    ]
    expect(new Set([digest(PLAIN), ...others]).size).toBe(others.length + 1)
  })

  it('the digest of a collection differs for each flag', () => {
    const collection = { wallet_address: RECEIVER, name: 'First light', blockchain: 'polygon' }
    const flags = [{}, { enable_api: false }, { enable_transfer: true }, { is_locked: true }]
    const digests = flags.map((flag) => operationDigest('createcollection', { ...collection, ...flag }))
    expect(new Set(digests).size).toBe(flags.length)
    expect(operationDigest('createcollection', { ...collection, is_locked: false })).toBe(digests[0])
  })

  it('has the name of a receiver in place of the address', () => {
    const nft = { metadata: PLAIN, receiver_wallet_address: RECEIVER }
    const named = operationDigest('createnft', { ...nft, receiver_name: 'alice.eth' })
    const moved = { metadata: PLAIN, receiver_wallet_address: SENDER, receiver_name: 'alice.eth' }
    expect(operationDigest('createnft', moved)).toBe(named)
    expect(operationDigest('createnft', { ...nft, receiver_name: 'bob.eth' })).not.toBe(named)
    expect(operationDigest('createnft', { ...nft, receiver_name: undefined })).toBe(digest(PLAIN))
    expect(named).not.toBe(digest(PLAIN))
  })
})
