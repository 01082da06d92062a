import { expect, test } from 'vitest'
import { answerOf, outcomeOf } from '../../../../../src/server/chain/evm/remote/answers.ts'

test.each([{ toString: 1 }, [], 7, null])('an error whose message is %j is an error without a message', (message) => {
  const reply = { jsonrpc: '2.0', id: 1, error: { code: message, message } }
  expect(outcomeOf(reply)).toBe('refused')
  expect(outcomeOf([reply])).toBe('answered')
  expect(answerOf(reply)).toMatchObject({ error: { message: '' } })
})
