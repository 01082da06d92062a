import type { Blockchain } from '../../api/blockchains.ts'
import { ERROR_TITLES } from '../../api/errors.ts'
import { HEADERS, VALUE_ERRORS } from '../../api/headers.ts'
import { Refusal } from './refusals.ts'
import type { ServiceDeps, ServiceRequest } from './services.ts'

/**
 * Rejects a request that requires coins without value, if the blockchain's coins have value.
 *
 * @throws Refusal 412
 */
export function refuseValue(
  { chains }: Pick<ServiceDeps, 'chains'>,
  { onlyWithoutValue = false }: Pick<ServiceRequest<unknown>, 'onlyWithoutValue'>,
  blockchain: Blockchain,
): void {
  if (!onlyWithoutValue || !chains.hasValue(blockchain)) return
  throw new Refusal(
    412,
    ERROR_TITLES.precondition,
    `the coins of ${blockchain} have value on this server, and the request permits only coins without value; nothing was accepted`,
    { [HEADERS.errorCode]: VALUE_ERRORS.hasValue },
  )
}
