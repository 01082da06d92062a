/**
 * Tool descriptions that replace the help text of commands. They are shorter, and don't mention terminals and exit
 * codes.
 */
export const DESCRIPTIONS: Readonly<Record<string, string>> = {
  'collection create':
    'A collection is a smart contract that a wallet owns. If there is only one collection, calls can omit its contract address.',
  'collection set':
    "The owner's wallet signs a transaction for each setting that differs, and pays for the gas. A new owner must accept the offered ownership.",
  'collection show': 'To show any EVM contract, pass a blockchain.',
  'collection list': 'The API cannot list collections created elsewhere.',
  'nft mint': 'gdn uploads local files. For many NFTs, use batch_mint.',
  'nft transfer': 'You can omit values that gdn can look up: token_id, contract, blockchain, sender.',
  'nft burn': 'A burn is permanent. The collection must have enable_burn.',
  'nft list': '',
  'nft show': '',
  'nft verify': 'The tool also checks the owner.',
  'batch template':
    'title, description and receiver are required. image and file:<key> are URLs or paths relative to the manifest. id identifies a row. attr:<tag> is an attribute, and extra:<key> is a metadata key.',
  'batch validate': 'Each error in a row, field or file has a line and column.',
  'batch mint': 'If you pass the same manifest again, its run resumes, and no row is minted twice.',
  'batch list': 'The latest run is first.',
  'batch status': 'The tool shows the records of this machine. Specify a run by its name, ID or manifest.',
  'batch results': '',
  'batch reconcile':
    'The tool searches for rows with an unknown outcome by their reference IDs, then in the collection. It mints nothing. batch_results shows why a row is undecided.',
  'batch retry': 'To change a failed row, edit the manifest and call batch_mint.',
  plan: 'The plan lists planned mints, updates, transfers and burns, impossible changes, and changes made outside the manifest.',
  apply: 'The tool makes the planned changes. If a change is impossible, nothing changes unless "only" is "mint".',
  cost: 'The estimate uses the current fees, and includes the funds that the signer needs. If you pass no collection, it includes the deployment of one.',
  'wallet list': 'Use @name wherever a parameter accepts an address.',
  'wallet generate': '',
  'nft grant':
    'The server mints the NFT to the sender, then transfers it to the receiver. The collection must have enable_transfer. gdn uploads local files.',
  'nft freeze': 'A freeze is permanent. collection_set freezes all NFTs of a collection.',
  'batch preview': 'The page shows each row with its image, its metadata and the errors of batch_validate.',
  'batch resume': 'The tool sends the rows as the run last recorded them, even if the manifest has changed.',
  'batch report':
    'The report contains images, owners, token IDs, rows by state, reasons for failures, duration and gas.',
  'batch rm':
    'The tool does not change minted NFTs, but it deletes the record that prevents rows from being minted twice. The same manifest then starts a new run.',
  reveal:
    'The tool updates each unrevealed NFT with the metadata of its row, and waits for the outcome. The manifest and its files must match the commitment of the collection.',
  'wallet add': 'Use this tool for addresses whose keys are not on this machine, such as those of receivers.',
  'wallet group':
    'With members, the tool creates the group or replaces its members. Without members, it shows the group. Without a group, it lists all groups.',
  'wallet rename': 'The tool also updates the groups that contain the address.',
  'wallet rm': 'The tool never deletes a keystore.',
  'tx unknown':
    'A backend finds unknown mints after a restore. Requests for a collection with unexplained mints return 503 until a person releases the collection.',
  doctor: 'The tool checks the configuration, server, key, clock, recorded runs and local backend.',
}
