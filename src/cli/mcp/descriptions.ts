/**
 * Tool descriptions that replace the help text of commands. They are shorter, and don't mention terminals and exit
 * codes.
 */
export const DESCRIPTIONS: Readonly<Record<string, string>> = {
  'collection create':
    'A collection is a smart contract that a wallet owns. If there is only one collection, calls can omit its contract address.',
  'collection set':
    "The owner's wallet signs a transaction for each setting that differs, and pays for the gas. A new owner must accept the offered ownership.",
  'collection show': 'With a blockchain, shows any EVM contract.',
  'collection list': 'The API cannot list other collections.',
  'nft mint': 'gdn uploads local files. For many NFTs, use batch_mint.',
  'nft transfer': 'You can omit values that gdn can look up: token_id, contract, blockchain, sender.',
  'nft burn': 'Permanent. Only in collections created with enable_burn.',
  'nft list': '',
  'nft show': '',
  'nft verify': 'Checks whether the server created the NFT, and who owns it.',
  'batch template':
    'Shows the most common columns. Required: title, description, receiver. image and file:<key> are URLs or paths relative to the manifest, id identifies a row, attr:<tag> is an attribute, extra:<key> a metadata key.',
  'batch validate': 'Returns problems of rows, fields and files, with line and column.',
  'batch mint': 'The same manifest resumes its run: rows that were minted are not minted again.',
  'batch list': 'The latest run is first.',
  'batch status': 'Shows what this machine has recorded. Specify a run by its name, ID or manifest.',
  'batch results': '',
  'batch reconcile':
    'Looks up rows with an unknown outcome by their reference IDs, then in the list of the collection. Mints nothing. batch_results shows why a row stays undecided.',
  'batch retry': 'To change a failed row, edit the manifest and call batch_mint.',
  plan: 'Shows the mints, updates, transfers and burns of apply, the changes that others made, and impossible changes.',
  apply: 'Makes the changes that plan shows. Does nothing if a change is impossible, unless "only" is "mint".',
  cost: 'Uses the current fees, and includes the amount to fund. Without a collection, includes its deployment.',
  'wallet list': 'Use @name wherever a parameter accepts an address.',
  'wallet generate': '',
  'nft grant':
    'Mints to the sender, then transfers to the receiver. The collection must have enable_transfer. gdn uploads local files.',
  'nft freeze': 'Permanent: no one can update a frozen NFT. collection_set freezes all NFTs of a collection.',
  'batch preview':
    'Writes one HTML file that shows each row with its image, its metadata and the problems of batch_validate.',
  'batch resume': 'Sends the rows as the run last recorded them, even if the manifest has changed.',
  'batch report':
    'Writes one HTML file with images, owners, token IDs, rows by state, reasons for failures, duration and gas.',
  'batch rm':
    'Minted NFTs are not affected. Also deletes the record that prevents rows from being minted twice: the same manifest then starts a new run.',
  reveal:
    'Updates each unrevealed NFT with the metadata of its row, and waits for the outcome. The manifest and its files must match the commitment of the collection.',
  'wallet add': 'Saves an address whose key is not on this machine, such as the address of a receiver.',
  'wallet group':
    'With members, creates the group or replaces its members. Without members, shows the group. Without a group, lists all groups.',
  'wallet rename': 'Renames an address that wallet_add saved, also in its groups.',
  'wallet rm': 'Deletes an address that wallet_add saved, or a group, never a keystore.',
  'tx unknown':
    'A backend finds such mints after a restore. Requests for a collection with unexplained mints get 503 until a person releases them.',
  doctor: 'Checks configuration, server, key, clock, recorded runs and the local backend.',
}
