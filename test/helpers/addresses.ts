/** The first receiver or owner of NFTs in tests. */
export const OWNER = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'
export const ALICE = '0xd1E64E5480bFaf733Ba7D48712DEcb8227797a4e'
export const BOB = '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB'
