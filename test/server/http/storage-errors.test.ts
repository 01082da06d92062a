import { expect, test, vi } from 'vitest'
import { createErrorHandler } from '../../../src/server/http/errors.ts'
import { StorageUnavailableError } from '../../../src/server/storage/adapter.ts'

test('names the storage, not the database, if the connection to the storage is refused', () => {
  const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', syscall: 'connect' })
  const log = { warn: vi.fn(), error: vi.fn() }
  const sent: unknown[] = []
  const reply = {
    code: () => reply,
    headers: () => reply,
    header: () => reply,
    send: (body: unknown) => sent.push(body),
  }
  const request = { routeOptions: { config: {} }, apiVersion: 'v1.1' }
  const error = new StorageUnavailableError('the IPFS node does not respond', { cause })
  createErrorHandler(log as never)(error as never, request as never, reply as never)
  expect(JSON.stringify(sent)).toContain("the server's file storage is unavailable")
  expect(log.warn).not.toHaveBeenCalled()
})
