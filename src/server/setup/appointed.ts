import type { Hex } from '../chain/evm/network.ts'
import { isOperator } from '../chain/evm/registry.ts'
import type { RemoteNetwork } from '../chain/evm/remote/remote-network.ts'
import { isNoAnswer } from '../chain/rpc/rpc-answer.ts'

/** A right to sign for the collections of a factory. */
export interface Appointment {
  factory: Hex
  operator: Hex
}

/** Returns the appointment of each operator in each factory. */
export const appointmentsOf = (factories: readonly Hex[], operators: readonly Hex[]): Appointment[] =>
  factories.flatMap((factory) => operators.map((operator) => ({ factory, operator })))

/** Returns the first of these appointments that was missing as of a block; null if none was. */
export async function findMissing(
  network: RemoteNetwork,
  appointments: readonly Appointment[],
  block: number,
): Promise<Appointment | null> {
  const known = await Promise.all(
    appointments.map(({ factory, operator }) => isOperator(network, factory, operator, block)),
  )
  return appointments.find((_, index) => !known[index]) ?? null
}

/** Whether all of these appointments were made in a final block; null if no node has that state. */
export async function wereAppointed(
  network: RemoteNetwork,
  appointments: readonly Appointment[],
  head: number,
): Promise<boolean | null> {
  const deep = head - network.publicNetwork.finality + 1
  if (deep < 0) return false
  try {
    return (await findMissing(network, appointments, deep)) === null
  } catch (error) {
    if (isNoAnswer(error)) return null
    throw error
  }
}
