import { expect, test } from 'vitest'
import { unknownNftsError } from '../../src/operations/unknown-nfts.ts'

test('an unknown ID has a hint to check it', () => {
  expect(unknownNftsError(['nft-1']).hint).toBe('Check the ID, the server and the account of the API key.')
})

test('an unknown NFT that is named by address and token has a hint with the command that prints its ID', () => {
  const contract = `0x${'aB'.repeat(20)}`
  expect(unknownNftsError(['nft-1', `${contract}/3`]).hint).toBe(
    `Use the ID of the NFT: gdn nft list -c ${contract} --json | jq -r '.[] | select(.token_id == "3").nft_gdn_id'`,
  )
})

test('an address in the place of an ID gets the commands for collections', () => {
  expect(unknownNftsError([`0x${'aB'.repeat(20)}`]).hint).toContain('`gdn nft list -c <address>`')
})

test('a name in the place of an address or an ID gets the commands that find NFTs', () => {
  expect(unknownNftsError(['Lanterns/37'], { takesTokens: true }).hint).toBe(
    'Use the address of the collection: <contract>/37. To list addresses, run `gdn collection list`.',
  )
  expect(unknownNftsError(['Lanterns/37']).hint).toContain('run `gdn nft list -c <collection>`.')
  expect(unknownNftsError(['drop.csv']).hint).toContain('run `gdn batch results <manifest>`')
})
