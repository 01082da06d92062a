import { findRunningBackend } from '../../config/local-backend.ts'
import { localDataDirectory } from '../../config/paths.ts'
import { parseServerOrigin } from '../../config/server.ts'
import { count } from '../../core/count.ts'
import { flagError, GdnError } from '../../core/errors.ts'
import { validateManifest } from '../../manifest/read.ts'
import { addTargetFlags, type BatchMintFlags, TARGET_ALIASES } from '../batch/options/flags.ts'
import {
  MappedColumns,
  manifestOptions,
  manifestSource,
  warnOfUnreadProjectFile,
  withEnsNames,
} from '../batch/options/manifest-options.ts'
import { GdnCommand } from '../command.ts'
import { specifiedNode } from '../connect/open-network.ts'
import { addReaderFlags } from '../connect/open-verifier.ts'
import {
  COST_FIELDS,
  estimateCard,
  estimateData,
  estimateFunding,
  findPrice,
  formatAmount,
  openMeter,
  SIMULATED_NOTE,
} from '../cost/estimate.ts'
import { addCostFlags, addRpcUrlHintToError, type CostFlags, findFees, refuseSolanaCosts } from '../cost/fees.ts'
import type { Deps } from '../deps.ts'
import { addOutputFlags, addServerFlags } from '../flags/common.ts'
import { createOutput, type View } from '../render/output.ts'
import { throwManifestErrors } from './batch/validate.ts'

export type EstimateFlags = BatchMintFlags & CostFlags

const VIEW: View = {
  fields: ['blockchain', 'rows', 'receivers', 'deploys_collection', ...COST_FIELDS, 'funding_wei'],
  columns: ['blockchain', 'rows', 'gas_estimate', 'cost_estimate_wei'],
  id: 'cost_estimate_wei',
  card: (data) => [
    ['blockchain', data.blockchain],
    [
      'rows',
      `${data.rows} for ${count(Number(data.receivers), 'receiver')}${data.deploys_collection ? ', and a new collection' : ''}`,
    ],
    ...estimateCard(data),
    [
      'to fund',
      `${formatAmount(data.funding_wei, 'up')} ${data.currency ?? 'coins'} for the operator that mints, at the current fees`,
    ],
  ],
}

export function command(deps: Deps, run = cost): GdnCommand {
  return new GdnCommand({
    about:
      'The command estimates the gas of a drop, and its cost at the current fees of the network. These are the fees of the last 20 blocks, plus the data fee on OP Stack networks, Arbitrum and Scroll. The command reads the fees from the node in --rpc-url, or from the server by default. If you specify no collection, the estimate includes the deployment of a collection. The estimate assumes a busy backend, whose transactions mint up to 200 NFTs each. The amount to fund is the maximum that one signer needs to mint the drop with gdn batch mint at the current fees. This amount includes the reserve that the signer keeps. The command sends no transactions.',
    examples: [
      ['Estimate the cost of a drop at the current fees', 'gdn cost drop.csv -b polygon'],
      [
        'Estimate the cost in US dollars, without a server',
        'gdn cost drop.csv -b polygon --rpc-url https://node.example --price 0.52',
      ],
      ['Print the estimate in wei', "gdn cost drop.csv -b polygon --json | jq -r '.cost_estimate_wei'"],
    ],
    aliases: TARGET_ALIASES,
  })
    .argument('<manifest>')
    .with(addTargetFlags)
    .switchFlag('--dynamic', 'Estimate the cost of dynamic NFTs, whose metadata can be updated')
    .with(addCostFlags, addReaderFlags, addServerFlags, addOutputFlags)
    .action(async (manifest: string, flags: EstimateFlags) => await run(deps, manifest, flags))
}

export async function cost(deps: Deps, manifest: string, flags: EstimateFlags): Promise<void> {
  const { io } = deps
  const output = createOutput(io, flags, VIEW, { manifest })
  const settings = await deps.settings(flags)
  await warnOfUnreadProjectFile(deps, manifest, settings)
  const manifestFlags = manifestOptions(deps, flags, settings)
  const blockchain = manifestFlags.blockchain ?? settings.blockchain?.value ?? null
  const options = withEnsNames(deps, settings, flags, manifestFlags)
  const groups = new Map<string, { receiver: string; sender: string | null; count: number }>()
  const summary = await validateManifest(
    manifestSource(deps, manifest),
    { ...options, blockchain, onMapped: new MappedColumns(io, settings).add },
    ({ receiver, sender }) => {
      const group = `${sender ?? ''} ${receiver}`
      const receiverGroup = groups.get(group)
      if (receiverGroup === undefined) groups.set(group, { receiver, sender, count: 1 })
      else receiverGroup.count += 1
    },
  )
  throwManifestErrors(summary, null)
  const { target, rows, receivers } = summary
  if (target.blockchain === null) {
    throw flagError('--blockchain', 'the blockchain is not known', 'Add --blockchain <name>.')
  }
  refuseSolanaCosts(target.blockchain)
  const meter = await openMeter(flags.dynamic)
  const deploys = (target.contractAddress ?? settings.contract) === null
  if (deploys) meter.addDeployment()
  // A request has one receiver and at most one sender, so group the rows by both.
  for (const group of groups.values()) meter.add(group.receiver, group.count, group.sender)
  const fees = await findFeesWithHint(deps, flags, settings, target.blockchain)
  const price = await findPrice(deps, flags, settings, fees.coin)
  const gas = meter.total()
  const funding = await estimateFunding(gas, fees)
  const estimate = { ...(await estimateData(gas, fees, price)), funding_wei: String(funding) }
  await output.one({ blockchain: target.blockchain, rows, receivers, deploys_collection: deploys, ...estimate })
  if (fees.isSimulated) io.note(SIMULATED_NOTE)
  else {
    const status = `gdn chain status ${target.blockchain}${await dataDirFlag(deps, settings)}`
    io.note(`On the machine of the backend, \`${status}\` shows the operators to fund.`)
  }
}

/** Returns ` --data-dir <dir>` unless the server is the backend of `gdn local start`. */
async function dataDirFlag({ env }: Deps, settings: Awaited<ReturnType<Deps['settings']>>): Promise<string> {
  const running = await findRunningBackend(localDataDirectory(env))
  const server = await settings.server().catch(() => null)
  return running !== null && server?.origin === parseServerOrigin(running.url) ? '' : ' --data-dir <dir>'
}

async function findFeesWithHint(
  deps: Deps,
  flags: EstimateFlags,
  settings: Awaited<ReturnType<Deps['settings']>>,
  blockchain: NonNullable<BatchMintFlags['blockchain']>,
) {
  let opened: Awaited<ReturnType<Deps['connect']>> | null = null
  try {
    return await findFees(deps, flags, blockchain, async () => {
      opened = await deps.connect(settings)
      return opened
    })
  } catch (error) {
    if (!(error instanceof GdnError) || specifiedNode(deps, flags) !== null) throw error
    throw addRpcUrlHintToError(error)
  } finally {
    await (opened as Awaited<ReturnType<Deps['connect']>> | null)?.client.close()
  }
}
