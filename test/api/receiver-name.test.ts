import { normalize } from 'viem/ens'
import { expect, test } from 'vitest'
import { createnft } from '../../src/api/endpoints/createnft.ts'
import { createnfttrans, createTransRequestV12Schema } from '../../src/api/endpoints/createnfttrans.ts'
import { transfernft, transferRequestV12Schema } from '../../src/api/endpoints/transfernft.ts'
import { receiverNameProblem } from '../../src/api/receiver-name.ts'
import { ALICE } from '../helpers/addresses.ts'

const FAMILY = '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}'
const ENGLAND = '\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}'

test.each([
  'a.b',
  'alice.eth',
  'Pay.Alice.ETH',
  'münchen.eth',
  '小明.eth',
  'ابراهيم.eth',
  `${FAMILY}.eth`,
  `${ENGLAND}.eth`,
])('accepts the normalized ENS name of %s', (name) => {
  expect(receiverNameProblem(normalize(name))).toBeNull()
})

const BYTES = 'must be 3 to 255 bytes long in UTF-8'
const CHARACTER = 'has a control character, whitespace or a slash'

test.each([
  ['a.', BYTES],
  [`${'a'.repeat(252)}.eth`, BYTES],
  [`${'ü'.repeat(126)}.eth`, BYTES],
  ['alice', 'must be an ENS name with a dot, such as alice.eth'],
  ['al ice.eth', CHARACTER],
  ['alice.eth\u00a0', CHARACTER],
  ['alice\u2028.eth', CHARACTER],
  ['alice\u001b.eth', CHARACTER],
  ['alice\u0000.eth', CHARACTER],
  ['alice\u202e.eth', CHARACTER],
  ['alice.eth/x', CHARACTER],
  ['alice\ud83d.eth', 'has an unpaired surrogate, which is not a valid character'],
])('rejects %j as an ENS name', (name, problem) => {
  expect(receiverNameProblem(name)).toBe(problem)
})

test('accepts a name of 255 bytes', () => {
  expect(receiverNameProblem(`${'ü'.repeat(125)}a.eth`)).toBeNull()
})

const mint = { ...createnft.example.request, receiver_name: 'alice.eth' }
const transfer = { ...Object(transfernft.example.request), blockchain: undefined, receiver_name: 'alice.eth' }
const SOLANA = 'So11111111111111111111111111111111111111112'

test.each([
  ['createnft', createnft.request, mint],
  ['createnfttrans', createnfttrans.request, { ...mint, sender_wallet_address: ALICE }],
  ['createnfttrans of v1.2', createTransRequestV12Schema, mint],
  ['transfernft', transfernft.request, { ...transfer, blockchain: 'polygon' }],
  ['transfernft of v1.2', transferRequestV12Schema, transfer],
])('%s accepts the name of its receiver, and rejects another form', (_, schema, request) => {
  expect(schema.safeParse(request).data).toMatchObject({ receiver_name: 'alice.eth' })
  for (const receiver_name of ['alice', 7, null, ['alice.eth']]) {
    expect(schema.safeParse({ ...request, receiver_name }).error?.issues).toMatchObject([{ path: ['receiver_name'] }])
  }
})

test('createnft rejects the name of a receiver on Solana', () => {
  const there = { blockchain: 'solana', contract_address: SOLANA, receiver_wallet_address: SOLANA }
  expect(createnft.request.safeParse({ ...mint, ...there }).error?.issues).toMatchObject([{ path: ['receiver_name'] }])
})
