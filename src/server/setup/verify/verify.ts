// Everything that the CLI needs to verify contracts, in one module that it loads on demand: it contains the sources.
export { withChain } from '../with-chain.ts'
export { checkCode, compilerVersion, type DeployedContract, deployedContracts, standardInput } from './contracts.ts'
export { createEtherscan, ETHERSCAN_URL } from './etherscan.ts'
export { createSourcify, SOURCIFY_URL } from './sourcify.ts'
export type { Verdict } from './verifier.ts'
