import { expect, test } from 'vitest'
import { toGatewayUrl } from '../../src/verify/storage-reader.ts'

const CID = 'bafkreifjjcie6lypi6ny7amxnfftagclbuxndqonfipmb64f2km2devei4'
const GATEWAY = 'http://127.0.0.1:8080'

test.each([
  [`ipfs://${CID}`, `${GATEWAY}/ipfs/${CID}`],
  [`ipfs://${CID}/art/1 🎨.png`, `${GATEWAY}/ipfs/${CID}/art/1%20%F0%9F%8E%A8.png`],
  [`ipfs://${CID}/..%2f..%2fadmin`, `${GATEWAY}/ipfs/${CID}/..%252f..%252fadmin`],
  [`ipfs://${CID}/\\..\\..\\admin`, `${GATEWAY}/ipfs/${CID}/%5C..%5C..%5Cadmin`],
])('reads %s at %s', (url, at) => {
  expect(toGatewayUrl(GATEWAY, url)).toBe(at)
  expect(new URL(at).href).toBe(at)
})

test.each([
  [`ipfs://${CID}/../../admin`],
  [`ipfs://${CID}/a/./b`],
  [`ipfs://${CID}/..`],
  [`ipfs://${CID}/?x`],
  [`ipfs://${CID}/\ud800`],
  ['ipfs://../admin'],
  [`http://169.254.169.254/${CID}`],
])('rejects %j, which would reach other parts of the gateway or another server', (url) => {
  expect(toGatewayUrl(GATEWAY, url)).toBeNull()
})
