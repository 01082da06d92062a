export { sealOf } from '../../api/provenance-seal.ts'
export { isMargin, isoTime, roundFor, ruleIn, ruleLine, type ShuffleRule, timeOfRound } from '../../api/shuffle-rule.ts'
