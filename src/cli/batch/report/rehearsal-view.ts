import { count } from '../../../core/count.ts'
import { groupDigits } from '../../../core/group-digits.ts'
import { formatCoins, formatGwei } from '../../../core/units.ts'
import type { DataRecord, RecordCard, View } from '../../render/view.ts'
import { roughDuration } from '../progress/progress-text.ts'

export const REHEARSAL_VIEW: View = {
  fields: [
    'blockchain',
    'contract_address',
    'block',
    'rows',
    'minted',
    'failed',
    'waiting',
    'transactions',
    'gas',
    'gas_price_wei',
    'cost_wei',
    'currency',
    'seconds',
    'signers',
    'failures',
  ],
  columns: ['blockchain', 'rows', 'minted', 'failed', 'transactions', 'gas', 'cost_wei'],
  id: 'contract_address',
  card,
}

interface Signer {
  address: string
  balance_wei: string
  spent_wei: string
}

interface Failure {
  line: number
  error: string
}

function card(report: DataRecord): RecordCard {
  const { rows, minted, failed, waiting, transactions, gas, gas_price_wei, cost_wei, currency, seconds } = report
  const coins = (wei: unknown) => `${formatCoins(BigInt(String(wei)))} ${currency ?? 'coins'}`
  const before = Number(rows) - Number(minted) - Number(failed) - Number(waiting)
  const rest = [
    ...(Number(failed) > 0 ? [`${failed} would fail`] : []),
    ...(Number(waiting) > 0 ? [`${waiting} would remain pending`] : []),
    ...(before > 0 ? [`${before} already accepted`] : []),
  ]
  return [
    ['contract_address', `${report.contract_address} on ${report.blockchain}, as of block ${report.block}`],
    ['rows', [`${minted} of ${rows} would be minted`, ...rest].join(', ')],
    ['transactions', `${transactions}, ${groupDigits(Number(gas))} gas`],
    ['cost', `${coins(cost_wei)} at ${formatGwei(BigInt(String(gas_price_wei)))} gwei`],
    ['time', `about ${roughDuration(Math.max(1, Number(seconds)) * 1000)}`],
    ...(report.signers as Signer[]).map(({ address, balance_wei, spent_wei }): [string, string] => [
      'signer',
      `${address} spends ${coins(spent_wei)} of ${coins(balance_wei)}`,
    ]),
    ...(report.failures as Failure[]).map(({ line, error }): [string, string] => [`line ${line}`, error]),
    ...(Number(failed) > (report.failures as Failure[]).length
      ? [['and', count(Number(failed) - (report.failures as Failure[]).length, 'more failed row')] as [string, string]]
      : []),
  ]
}
