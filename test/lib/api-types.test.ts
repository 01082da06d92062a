import { expect, test } from 'vitest'
import type * as z from 'zod'
import type { createTransRequestV12Schema } from '../../src/api/endpoints/createnfttrans.ts'
import type { transferRequestV12Schema } from '../../src/api/endpoints/transfernft.ts'
import { ENDPOINT_NAMES, type EndpointName } from '../../src/api/endpoints.ts'
import type { RequestOf, ResponseOf } from '../../src/client/api-client.ts'
import { createClient } from '../../src/lib/create-client.ts'
import type { Api } from '../../src/lib/index.ts'

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false

/** Field by field. What the contract preprocesses is unknown in its type, and only the generated one says more. */
type AgreesByField<Generated, Contract> =
  Same<keyof Generated, keyof Contract> extends false
    ? false
    : {
          [Key in keyof Contract]-?: unknown extends Contract[Key]
            ? never
            : Same<Generated[Key & keyof Generated], Contract[Key]> extends true
              ? never
              : Key
        }[keyof Contract] extends never
      ? true
      : false

/** Whether each member of both unions agrees with a member of the other. */
type Agrees<Generated, Contract> = unknown extends Contract
  ? true
  : false extends
        | (Contract extends unknown ? AgreesWithSome<Generated, Contract> : never)
        | (Generated extends unknown ? AgreesWithSome<Contract, Generated, true> : never)
    ? false
    : true
type AgreesWithSome<Some, One, Swapped = false> = true extends (
  Some extends unknown
    ? Swapped extends true
      ? AgreesByField<One, Some>
      : AgreesByField<Some, One>
    : never
)
  ? true
  : false

/** The client's types are those of version 1.2, in which the sender is optional. */
type ContractRequest<Name extends EndpointName> = Name extends 'createnfttrans'
  ? z.input<typeof createTransRequestV12Schema>
  : RequestOf<Name>

type Requests = { [Name in EndpointName]: Agrees<Parameters<Api[Name]>[0], ContractRequest<Name>> }
type Responses = { [Name in EndpointName]: Same<Awaited<ReturnType<Api[Name]>>, ResponseOf<Name>> }
type AllTrue = { [Name in EndpointName]: true }

// Checked by tsc in `npm run check`, which names the endpoint whose types differ.
const requests: AllTrue = {} as Requests
const responses: AllTrue = {} as Responses
// The contract preprocesses the whole request, for two spellings of token_id.
const transfer: Same<
  keyof Extract<Parameters<Api['transfernft']>[0], { token_id: string }>,
  keyof z.output<typeof transferRequestV12Schema>
> = true

test('the client has the types of every endpoint', () => {
  expect([requests, responses, transfer]).toEqual([{}, {}, true])
  const { api } = createClient({ baseUrl: 'https://api.example.com', apiKey: 'a-key-of-a-test' })
  expect(Object.keys(api)).toEqual(ENDPOINT_NAMES)
})
