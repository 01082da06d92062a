// All that the command line needs to set networks up, in one module that it loads when it is needed.
export { formatEther } from 'viem'
export { openKeystoreFile } from '../chain/evm/open-signer.ts'
export { type ClusterStatus, clusterStatus, setUpCluster, withCluster } from './cluster.ts'
export { planSetup, type SetupPlan } from './plan.ts'
export { runSetup } from './run.ts'
export { chainStatus } from './status.ts'
export { type ChainPlace, withChain } from './with-chain.ts'
