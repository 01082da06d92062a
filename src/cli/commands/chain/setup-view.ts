import { groupDigits } from '../../../core/group-digits.ts'
import { formatCoins, parseUnits, type Rounding } from '../../../core/units.ts'
import type { CardRow, DataRecord, View } from '../../render/view.ts'

export const SETUP_VIEW: View = {
  fields: [
    ...['blockchain', 'chain_id', 'currency', 'status', 'factory', 'admin', 'operators', 'to_appoint', 'gas', 'cost'],
    ...['deployment_gas', 'deployment_cost', 'balance', 'needed_per_operator'],
  ],
  columns: ['blockchain', 'chain_id', 'status', 'factory', 'admin', 'to_appoint', 'gas', 'cost', 'balance'],
  id: 'blockchain',
  card: (record) => [
    ...['blockchain', 'chain_id', 'status', 'factory', 'admin', 'operators', 'to_appoint'].map(
      (field): CardRow => [field, record[field]],
    ),
    ...(record.status === 'done' ? paidRows(record) : plannedRows(record)),
    ['needed_per_operator', `at least ${formatCost(record, 'needed_per_operator', 'up')}; for a drop, see gdn cost`],
  ],
}

/** Formats a decimal amount of a record for display, such as `0.0043 ETH`. */
export function formatCost(record: DataRecord, field: string, rounding: Rounding): string | null {
  const amount = record[field]
  const wei = typeof amount === 'string' ? parseUnits(amount) : null
  return wei === null ? null : `${formatCoins(wei, rounding)} ${record.currency ?? 'coins'}`
}

const formatGas = (gas: unknown) => `${groupDigits(Number(gas))} gas`

/** Returns the rows for the setup's maximum cost and the admin's balance. */
const plannedRows = (record: DataRecord): CardRow[] => [
  ['cost', `at most ${formatCost(record, 'cost', 'up')} for ${formatGas(record.gas)}`],
  ['balance', formatCost(record, 'balance', 'down')],
]

/**
 * Returns the rows for the deployment cost and the maximum authorization cost. The deployment cost comes from the
 * receipt, even if an earlier run deployed the factory. A new factory authorizes its own operators. If other operators
 * remain to be authorized, `gas` is the gas of their authorization. If the setup also replaced the deployment
 * transaction, `gas` includes the gas of the deployment.
 */
function paidRows(record: DataRecord): CardRow[] {
  const { deployment_cost: paid, deployment_gas: gas, to_appoint: authorized } = record
  const rows: CardRow[] = []
  if (paid !== null)
    rows.push(['deployment_cost', `${formatCost(record, 'deployment_cost', 'nearest')} for ${formatGas(gas)}`])
  if (Array.isArray(authorized) && authorized.length > 0) {
    rows.push(['appointment_cost', `at most ${formatCost(record, 'cost', 'up')} for ${formatGas(record.gas)}`])
  }
  return rows
}
