import type * as z from 'zod'
import { addressProblem } from './address.ts'
import type { Blockchain } from './blockchains.ts'

/** An object-level check that the named fields are addresses of the object's blockchain. */
export function checkAddresses<Field extends string>(...fields: readonly Field[]) {
  return (context: z.core.ParsePayload<{ blockchain: Blockchain } & Record<Field, string>>) => {
    for (const field of fields) {
      const value: string = context.value[field]
      const problem = addressProblem(value, context.value.blockchain)
      if (problem !== null) context.issues.push({ code: 'custom', path: [field], message: problem, input: value })
    }
  }
}
