import { expect, test } from 'vitest'
import { classifyResponse, parseRpcResponse } from '../../../../../src/server/chain/evm/remote/responses.ts'

test.each([{ toString: 1 }, [], 7, null])('an error whose message is %j is an error without a message', (message) => {
  const reply = { jsonrpc: '2.0', id: 1, error: { code: message, message } }
  expect(classifyResponse(reply)).toBe('refused')
  expect(classifyResponse([reply])).toBe('answered')
  expect(parseRpcResponse(reply, 'eth_call')).toMatchObject({ error: { message: '' } })
})

test.each([
  ['eth_getCode', null],
  ['eth_getCode', '0x123'],
  ['eth_call', {}],
  ['eth_getLogs', null],
  ['eth_getTransactionByHash', 'none'],
])('a node that answers %s with %j has failed', (method, result) => {
  expect(() => parseRpcResponse({ jsonrpc: '2.0', id: 1, result }, method)).toThrow(
    `a node returned an invalid response to ${method}`,
  )
})
