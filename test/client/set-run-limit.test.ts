import { beforeAll, expect, test } from 'vitest'
import type { RequestOf, ResponseOf } from '../../src/client/api-client.ts'
import { setRunLimit } from '../../src/client/run-costs.ts'
import {
  backendForFile,
  call,
  createTestCollection,
  type TestBackend,
  type TestCollection,
} from '../helpers/backend.ts'

let backend: TestBackend
let collection: TestCollection
beforeAll(async () => {
  backend = await backendForFile()
  collection = await createTestCollection(backend)
})

const RUN = 'lowered-meanwhile'
const set = (wei: string) =>
  call(backend, 'setrunmaxcost', {
    ...{ run: RUN, contract_address: collection.address, blockchain: 'polygon', max_cost: wei },
  })

test('a kept limit never raises the one that a person lowers after it was read', async () => {
  await set('9000')
  const client = {
    async call<Name extends 'getruncosts' | 'setrunmaxcost'>(name: Name, request: RequestOf<Name>) {
      const answer = (await call(backend, name, request)) as ResponseOf<Name>
      if (name === 'getruncosts') await set('100')
      return answer
    },
    learnCapabilities: async () => {},
    supports: () => true,
  }
  const limit = { run: RUN, maxCost: { wei: 500n, isSet: false } }
  await setRunLimit(client, { limit, contract: collection.address, blockchain: 'polygon' })
  expect((await call(backend, 'getruncosts', { run: RUN })).costs.max_cost).toBe('100')
  await setRunLimit(client, {
    limit: { run: RUN, maxCost: { wei: 500n, isSet: true } },
    contract: collection.address,
    blockchain: 'polygon',
  })
  expect((await call(backend, 'getruncosts', { run: RUN })).costs.max_cost).toBe('500')
})
