# Completions of gdn for bash 3.2 and later. Generated from the command tree by src/build/completions.mjs.
# Values come from tables, or from gdn, which sanitizes them. Typed text and values are never run or expanded.

__gdn_words() {
  case $1 in
    '') REPLY='collection Create, show, change and list collections
nft Mint, transfer, update, burn, list and verify NFTs
batch Mint drops from CSV, JSON or JSONL manifests
art Generate art from layers
plan Compare a manifest with the existing NFTs
apply Make the changes in a plan or manifest
reveal Reveal NFTs that were minted unrevealed
cost Estimate the cost of a drop on a network
wallet Generate, import, name and export wallets
local Run a local backend in the background
serve Run the backend in the foreground
worker Run a worker for a backend on PostgreSQL
open Open the web explorer of a backend
chain Manage the public networks of a backend
tx Manage the transactions that a backend has signed
key Manage the API keys of a backend
webhook Manage webhooks for deployment events
db Manage the database of a backend
init Set up a server, its API key and your defaults
auth Save, show and delete the API keys that you use
config Manage profiles and their settings
doctor Diagnose setup problems and suggest fixes
completion Print a shell completion script
api Call an API endpoint and print the raw response
schema Print the JSON Schema of a file
mcp Serve the commands to coding agents as MCP tools
help Help for commands and topics, and search' ;;
    'collection') REPLY='create Create a collection and wait until it is deployed
show Show collections by ID or contract address
set Change royalties, metadata, permissions or owner
list List the collections created on this machine
holders List the holders of any token contract
archive Archive the metadata and files of any NFT contract
check Check that the files of an NFT contract can be read
restore Restore an archive into a backend' ;;
    'nft') REPLY='mint Mint NFTs and wait until they are deployed
grant Mint NFTs to a first owner and transfer them in one step
transfer Transfer an NFT and wait until its owner changes
list List the NFTs of a collection
show Show NFTs by ID
wait Wait until NFTs are deployed
update Change the metadata of a dynamic NFT
freeze Freeze the metadata of NFTs permanently
burn Burn NFTs
refresh Refresh the metadata of NFTs on OpenSea
history Show the history of an NFT
verify Verify that the server created an NFT, and check its data' ;;
    'batch') REPLY='template Print a sample manifest
validate Validate a manifest without sending anything
rarity Rank NFTs by the rarity of their traits
preview Write an HTML preview of a manifest
rehearse Rehearse a drop on a copy of its network
mint Mint every row of a manifest, or resume its run
list List the runs on this machine
status Show the rows of a run by state
resume Resume an interrupted run
retry Retry the failed rows of a run
reconcile Resolve the rows with an unknown outcome
results Show the outcome of every row in a run
report Write an HTML report of the NFTs that a run minted
rm Delete a run and its rows from this machine' ;;
    'art') REPLY='init Print an art.yaml for a folder of layers
check Check whether an art edition is possible
preview Show a sample of an art edition
generate Generate the images and manifest of an edition
import Turn the output of HashLips or sugar into a manifest' ;;
    'wallet') REPLY='generate Generate a wallet and store its key in an encrypted file
import Import a key into an encrypted file
url Print a signed URL that generates a wallet
list List named wallets and addresses
add Save an address under a name
group Create or show a group of saved names
rename Rename a saved address
rm Delete a saved address or a group
export Export a keystore or its private key
proofs Compute Merkle proofs for a list of receivers' ;;
    'local') REPLY='start Start the local backend
stop Stop the local backend
status Show whether the local backend is running, and its URL
logs Show the log of the local backend
listen Show and forward the events of the local backend
reset Delete all data of the local backend
exec Run a command against a temporary backend' ;;
    'chain') REPLY='list List the public networks of a backend
setup Deploy the factory and authorize signers on a network
status Show the nodes, fees, factory and signers of a network
verify Publish the sources of the contracts on a network' ;;
    'tx') REPLY='list List the transactions that a backend has signed
show Show a transaction with all its attempts
bump Raise the fees of a pending transaction
cancel Cancel a pending transaction
unknown List on-chain mints that are unknown to a backend
release Accept unknown tokens so that a collection can mint again' ;;
    'key') REPLY='create Create an API key for a backend
list List the API keys of a backend
revoke Revoke an API key of a backend' ;;
    'webhook') REPLY='add Add a webhook for deployment events
list List the webhooks of a backend
show Show a webhook and its failures
update Change the URL or events of a webhook
rm Delete a webhook
test Send a test event to a webhook
trigger Send a test event of any type to a webhook
deliveries List a webhook'\''s deliveries and responses
replay Replay the events of a webhook' ;;
    'db') REPLY='export Export the database of a backend to a file
import Import an export into an empty database
migrate Migrate the database to the schema of this version
status Show the database of a backend and its migrations' ;;
    'auth') REPLY='login Save the API key of a server
status Show saved API keys and where they are stored
logout Delete the saved API key of a server' ;;
    'config') REPLY='get Print one setting
set Save a setting in a profile
unset Remove a setting from a profile
list List the configuration in effect and its sources
path Print the paths of configuration and state' ;;
    'help') REPLY='environment Configuration files and environment variables
exit-codes Exit codes and error codes
manifest Columns, formats and limits of a manifest
output Output formats, fields, colors and images
blockchains Supported blockchains and their features
security How keys and wallets are protected
collection Create, show, change and list collections
nft Mint, transfer, update, burn, list and verify NFTs
batch Mint drops from CSV, JSON or JSONL manifests
art Generate art from layers
plan Compare a manifest with the existing NFTs
apply Make the changes in a plan or manifest
reveal Reveal NFTs that were minted unrevealed
cost Estimate the cost of a drop on a network
wallet Generate, import, name and export wallets
local Run a local backend in the background
serve Run the backend in the foreground
worker Run a worker for a backend on PostgreSQL
open Open the web explorer of a backend
chain Manage the public networks of a backend
tx Manage the transactions that a backend has signed
key Manage the API keys of a backend
webhook Manage webhooks for deployment events
db Manage the database of a backend
init Set up a server, its API key and your defaults
auth Save, show and delete the API keys that you use
config Manage profiles and their settings
doctor Diagnose setup problems and suggest fixes
completion Print a shell completion script
api Call an API endpoint and print the raw response
schema Print the JSON Schema of a file
mcp Serve the commands to coding agents as MCP tools' ;;
    *) REPLY='' ;;
  esac
}

__gdn_arguments() {
  case $1 in
    'collection show') REPLY='@collections+' ;;
    'collection set') REPLY='text' ;;
    'collection holders') REPLY='text' ;;
    'collection archive') REPLY='text' ;;
    'collection check') REPLY='text' ;;
    'collection restore') REPLY='file' ;;
    'nft transfer') REPLY='text' ;;
    'nft show') REPLY='text+' ;;
    'nft wait') REPLY='text+' ;;
    'nft update') REPLY='text' ;;
    'nft freeze') REPLY='text+' ;;
    'nft burn') REPLY='text+' ;;
    'nft refresh') REPLY='text+' ;;
    'nft history') REPLY='text' ;;
    'nft verify') REPLY='text' ;;
    'batch validate') REPLY='file' ;;
    'batch rarity') REPLY='file' ;;
    'batch preview') REPLY='file' ;;
    'batch rehearse') REPLY='file' ;;
    'batch mint') REPLY='file' ;;
    'batch status') REPLY='@runs' ;;
    'batch resume') REPLY='@runs' ;;
    'batch retry') REPLY='@runs' ;;
    'batch reconcile') REPLY='@runs' ;;
    'batch results') REPLY='@runs' ;;
    'batch report') REPLY='@runs' ;;
    'batch rm') REPLY='@runs' ;;
    'art init') REPLY='text' ;;
    'art check') REPLY='text' ;;
    'art preview') REPLY='text' ;;
    'art generate') REPLY='text' ;;
    'art import') REPLY='text' ;;
    'plan') REPLY='file' ;;
    'apply') REPLY='file' ;;
    'reveal') REPLY='file' ;;
    'cost') REPLY='file' ;;
    'wallet import') REPLY='file' ;;
    'wallet add') REPLY='text text' ;;
    'wallet group') REPLY='text text+' ;;
    'wallet rename') REPLY='text text' ;;
    'wallet rm') REPLY='@wallets' ;;
    'wallet export') REPLY='@wallets' ;;
    'wallet proofs') REPLY='text' ;;
    'local exec') REPLY='command+' ;;
    'open') REPLY='@runs' ;;
    'chain setup') REPLY='=blockchain' ;;
    'chain status') REPLY='=blockchain' ;;
    'chain verify') REPLY='=blockchain' ;;
    'tx show') REPLY='text' ;;
    'tx bump') REPLY='text' ;;
    'tx cancel') REPLY='text' ;;
    'tx release') REPLY='text' ;;
    'key revoke') REPLY='text' ;;
    'webhook add') REPLY='text' ;;
    'webhook show') REPLY='text' ;;
    'webhook update') REPLY='text' ;;
    'webhook rm') REPLY='text' ;;
    'webhook test') REPLY='text' ;;
    'webhook trigger') REPLY='text =event-2' ;;
    'webhook deliveries') REPLY='text' ;;
    'webhook replay') REPLY='text' ;;
    'db export') REPLY='file' ;;
    'db import') REPLY='file' ;;
    'config get') REPLY='=name' ;;
    'config set') REPLY='=name-2 text' ;;
    'config unset') REPLY='=name-2' ;;
    'completion') REPLY='=shell' ;;
    'api') REPLY='=endpoint' ;;
    'schema') REPLY='=name-3' ;;
    *) REPLY='' ;;
  esac
}

__gdn_bundles() {
  case $1 in
    'collection create') REPLY='flags-15407d sending-and-waiting-8da941 cost-4ae0d6 server-12647a output-31b492' ;;
    'collection show') REPLY='flags-432af9 server-12647a output-31b492' ;;
    'collection set') REPLY='settings-ea9ae2 flags-a9a00d sending-and-waiting-6c0222 verifying-3d2de1 server-12647a output-31b492' ;;
    'collection list') REPLY='server-12647a output-31b492' ;;
    'collection holders') REPLY='flags-68dc64 reading-60a6c3 choosing-32184b server-12647a output-31b492' ;;
    'collection archive') REPLY='flags-ed07d5 reading-2b1e76 limits-0ec39d server-12647a output-31b492' ;;
    'collection check') REPLY='flags-16df06 reading-2b1e76 limits-0ec39d server-12647a output-7bedd8' ;;
    'collection restore') REPLY='flags-db71d7 output-31b492' ;;
    'nft mint') REPLY='flags-136c6d metadata-246efa sending-and-waiting-b2d552 cost-4ae0d6 manifests-8116b0 server-12647a output-31b492' ;;
    'nft grant') REPLY='flags-ced437 metadata-246efa sending-and-waiting-b2d552 cost-4ae0d6 server-12647a output-31b492' ;;
    'nft transfer') REPLY='flags-62ab30 sending-and-waiting-3ae51d cost-4ae0d6 server-12647a output-31b492' ;;
    'nft list') REPLY='flags-8578f9 server-12647a output-31b492' ;;
    'nft show') REPLY='flags-4bed9d server-12647a output-31b492' ;;
    'nft wait') REPLY='sending-and-waiting-6eeee0 server-12647a output-31b492' ;;
    'nft update') REPLY='metadata-246efa flags-3d0ce9 sending-and-waiting-a91e0a cost-4ae0d6 server-12647a output-31b492' ;;
    'nft freeze') REPLY='flags-5c9e0d sending-and-waiting-a868c1 cost-4ae0d6 server-12647a output-31b492' ;;
    'nft burn') REPLY='flags-5c9e0d sending-and-waiting-d64d4f cost-4ae0d6 server-12647a output-31b492' ;;
    'nft refresh') REPLY='flags-e4deed marketplace-e708de sending-and-waiting-db7524 server-12647a output-31b492' ;;
    'nft history') REPLY='flags-763cff server-12647a output-31b492' ;;
    'nft verify') REPLY='flags-7d85ae verifying-5ceb4e server-12647a output-31b492' ;;
    'batch template') REPLY='flags-9432ff server-da4928 output-d9d285' ;;
    'batch validate') REPLY='flags-69dd9f server-12647a output-31b492' ;;
    'batch rarity') REPLY='flags-869258 server-12647a output-31b492' ;;
    'batch preview') REPLY='flags-3d8e6e server-12647a output-31b492' ;;
    'batch rehearse') REPLY='flags-275674 run-cb7e0b server-da4928 output-31b492' ;;
    'batch mint') REPLY='flags-993fb6 receivers-ea0bb1 run-ec44fa sending-and-waiting-767588 verifying-4972e5 cost-842c67 server-12647a output-31b492' ;;
    'batch list') REPLY='flags-adadad server-12647a output-31b492' ;;
    'batch status') REPLY='flags-17b427 server-12647a output-31b492' ;;
    'batch resume') REPLY='flags-090a66 run-a38e3e sending-and-waiting-767588 verifying-4972e5 cost-842c67 server-12647a output-31b492' ;;
    'batch retry') REPLY='flags-263dfc run-a38e3e sending-and-waiting-767588 verifying-4972e5 cost-842c67 server-12647a output-31b492' ;;
    'batch reconcile') REPLY='flags-486742 run-d19a3d sending-and-waiting-6eeee0 verifying-4972e5 server-12647a output-31b492' ;;
    'batch results') REPLY='flags-2d031d verifying-4972e5 server-12647a output-31b492' ;;
    'batch report') REPLY='flags-6ac953 server-12647a output-31b492' ;;
    'batch rm') REPLY='flags-a1e007 server-12647a output-31b492' ;;
    'art init') REPLY='output-d9d285' ;;
    'art check') REPLY='flags-007ca7 output-31b492' ;;
    'art preview') REPLY='flags-58bd54 output-31b492' ;;
    'art generate') REPLY='flags-a8f9e7 output-31b492' ;;
    'art import') REPLY='flags-685e02 output-31b492' ;;
    'plan') REPLY='flags-c488da server-12647a output-7bedd8' ;;
    'apply') REPLY='flags-c380c0 cost-6f1f63 marketplace-fd045b sending-and-waiting-50fb0b server-12647a output-31b492' ;;
    'reveal') REPLY='flags-6bcdea sending-and-waiting-eb853f cost-6f1f63 marketplace-fd045b verifying-7109df server-12647a output-31b492' ;;
    'cost') REPLY='flags-e6f761 cost-61e4fe verifying-3d2de1 server-12647a output-31b492' ;;
    'wallet generate') REPLY='flags-cd1130 server-12647a output-31b492' ;;
    'wallet import') REPLY='flags-081201 server-da4928 output-31b492' ;;
    'wallet url') REPLY='flags-44913c server-12647a output-31b492' ;;
    'wallet list') REPLY='server-da4928 output-31b492' ;;
    'wallet add') REPLY='flags-36b1ec server-da4928 output-31b492' ;;
    'wallet group') REPLY='flags-a65d41 server-da4928 output-31b492' ;;
    'wallet rename') REPLY='server-da4928 output-31b492' ;;
    'wallet rm') REPLY='server-da4928 output-31b492' ;;
    'wallet export') REPLY='flags-4f1d06 server-da4928 output-fdabd3' ;;
    'wallet proofs') REPLY='flags-9a6469 output-31b492' ;;
    'local start') REPLY='flags-d0057d output-31b492' ;;
    'local stop') REPLY='output-31b492' ;;
    'local status') REPLY='output-31b492' ;;
    'local logs') REPLY='flags-54ec35 output-d9d285' ;;
    'local listen') REPLY='flags-409646 output-a80a99' ;;
    'local reset') REPLY='flags-799fb7 output-31b492' ;;
    'local exec') REPLY='flags-1dfdcb output-d9d285' ;;
    'serve') REPLY='flags-498f1e output-990dbf' ;;
    'worker') REPLY='flags-276b68 output-e9ede5' ;;
    'open') REPLY='flags-5f02cc server-12647a output-3c06f6' ;;
    'chain list') REPLY='flags-ef163f output-31b492' ;;
    'chain setup') REPLY='flags-2a70f6 sending-and-waiting-1cb25c output-31b492' ;;
    'chain status') REPLY='flags-ef163f output-31b492' ;;
    'chain verify') REPLY='flags-9273c0 sending-and-waiting-aeee81 output-31b492' ;;
    'tx list') REPLY='flags-ec747d output-31b492' ;;
    'tx show') REPLY='flags-f61f07 output-31b492' ;;
    'tx bump') REPLY='flags-a4ed35 output-31b492' ;;
    'tx cancel') REPLY='flags-94197e output-31b492' ;;
    'tx unknown') REPLY='flags-39c119 output-31b492' ;;
    'tx release') REPLY='flags-f6ee49 output-31b492' ;;
    'key create') REPLY='flags-05de4e output-31b492' ;;
    'key list') REPLY='flags-f61f07 output-31b492' ;;
    'key revoke') REPLY='flags-f61f07 output-31b492' ;;
    'webhook add') REPLY='flags-f80909 output-31b492' ;;
    'webhook list') REPLY='flags-f61f07 output-31b492' ;;
    'webhook show') REPLY='flags-f61f07 output-31b492' ;;
    'webhook update') REPLY='flags-5cd448 output-31b492' ;;
    'webhook rm') REPLY='flags-94197e output-31b492' ;;
    'webhook test') REPLY='flags-f61f07 output-31b492' ;;
    'webhook trigger') REPLY='flags-f61f07 output-31b492' ;;
    'webhook deliveries') REPLY='flags-d78a9e output-31b492' ;;
    'webhook replay') REPLY='flags-c76001 output-31b492' ;;
    'db export') REPLY='flags-ef163f output-31b492' ;;
    'db import') REPLY='flags-ef163f output-31b492' ;;
    'db migrate') REPLY='flags-ef163f output-31b492' ;;
    'db status') REPLY='flags-ef163f output-31b492' ;;
    'init') REPLY='flags-0a57d1 server-da4928 output-31b492' ;;
    'auth login') REPLY='flags-4dc24c server-12647a output-31b492' ;;
    'auth status') REPLY='flags-6a47ec server-12647a output-31b492' ;;
    'auth logout') REPLY='flags-ba0c83 server-12647a output-31b492' ;;
    'config get') REPLY='server-12647a output-31b492' ;;
    'config set') REPLY='flags-31a1f1 server-da4928 output-31b492' ;;
    'config unset') REPLY='flags-a7d54b output-31b492' ;;
    'config list') REPLY='flags-672c77 server-12647a output-31b492' ;;
    'config path') REPLY='server-da4928 output-31b492' ;;
    'doctor') REPLY='server-12647a flags-dde1fc output-31b492' ;;
    'completion') REPLY='output-d9d285' ;;
    'api') REPLY='flags-3898da output-986f87 server-12647a' ;;
    'schema') REPLY='output-31b492' ;;
    'mcp') REPLY='permissions-of-the-agent-5510da flags-b36207 server-12647a output-d9d285' ;;
    *) REPLY='' ;;
  esac
}

__gdn_flags() {
  case $1 in
    'flags-15407d') REPLY='--name - text Name of the collection
--blockchain -b =blockchain Blockchain of the collection
--wallet - @wallets Wallet that owns the collection: an address, @name or ENS name
--wallet-address ~ @wallets Wallet that owns the collection: an address, @name or ENS name
--description - text Description; Solana requires one
--image - text Image URL; Solana requires one
--enable-transfer - - Let the API transfer NFTs
--no-enable-transfer - - Don'\''t let the API transfer NFTs (the default; gdn prompts in a terminal)
--enable-api - - Let the API mint NFTs (the default)
--no-enable-api - - Don'\''t let the API mint NFTs
--locked - - Prevent all transfers of NFTs permanently
--is-locked ~ - Prevent all transfers of NFTs permanently
--dynamic - - Let the API update the metadata of NFTs
--enable-burn - - Let the API burn NFTs
--royalty - text Royalty on sales, such as 5%
--royalty-receiver - @wallets Address, @name or ENS name that receives the royalty (the owner)
--max-supply - text Maximum number of NFTs, including burned ones (unlimited)
--file -f file JSON request, or - for standard input; flags override its fields
--no-ccip - - Reject ENS names that are resolved through gateways (CCIP-Read)' ;;
    'sending-and-waiting-8da941') REPLY='--wait - - Wait until the collection is deployed (the default)
--no-wait - - Return when the request is accepted
--timeout - text How long the command may take (5m after acceptance)
--dry-run - - Print the request without sending it
--yes -y - Don'\''t prompt before spending coins that have value
--again - - Send another request, regardless of the outcome of earlier requests
--operation - text UUID of the operation to resume or to create' ;;
    'cost-4ae0d6') REPLY='--max-cost - text Maximum cost of the request: 0.5 (coins) or 10USD
--price - text Price of the network'\''s coin: 3100 (USD) or 3100EUR' ;;
    'server-12647a') REPLY='--local - - Use the local backend (gdn local start)
--base-url - text URL of the server
--profile - @profiles Configuration profile to use
--state-dir - dir Directory of runs, recorded commands and saved addresses' ;;
    'output-31b492') REPLY='--output -o =output Output format: table, json, ndjson, csv or ids (table)
--json - - Same as --output json
--fields - text Print only these fields
--for-spreadsheet - - Write CSV for spreadsheets, with formulas escaped
--quiet -q - Omit notes and progress
--no-color - - Disable colors
--no-input - - Disable prompts
--debug - - Print requests, timings and stack traces to stderr
--help -h - Help for this command' ;;
    'flags-432af9') REPLY='--blockchain -b =blockchain Blockchain of the collections
--rpc-url - text JSON-RPC URL of a contract'\''s chain (GDN_RPC_URL, or the server'\''s node)' ;;
    'settings-ea9ae2') REPLY='--royalty - text Royalty on sales, such as 5%; 0% removes the royalty
--royalty-receiver - @wallets Address, @name or ENS name that receives the royalty (the current receiver, or else the owner)
--description - text Description of the collection
--image - text Image of the collection
--banner - text Banner of the collection
--external-link - text Website of the collection
--contract-uri - text URI of the complete metadata; can'\''t be combined with --image, --banner, --description or --external-link
--max-supply - text Lower the maximum number of NFTs
--enable-api - - Let the API mint NFTs
--no-enable-api - - Don'\''t let the API mint NFTs
--enable-transfer - - Let the API transfer NFTs
--no-enable-transfer - - Don'\''t let the API transfer NFTs
--new-owner - @wallets Offer ownership to this address, @name or ENS name
--accept-owner - - Accept ownership that was offered to the wallet
--freeze - - Freeze the metadata of all NFTs permanently' ;;
    'flags-a9a00d') REPLY='--wallet - text The owner'\''s keystore: @name or a file
--password-file - file File with the password, or - for standard input
--safe - file Write the changes to a new file for the Safe that owns the collection, without sending them
--blockchain -b =blockchain Blockchain of the collection
--dry-run - - Show the changes and their maximum cost without sending them
--yes -y - Don'\''t prompt
--rpc-url-file - file File with the JSON-RPC URL of the network
--no-ccip - - Reject ENS names that are resolved through gateways (CCIP-Read)' ;;
    'sending-and-waiting-6c0222') REPLY='--timeout - text How long the command may take (5m for sending and waiting)' ;;
    'verifying-3d2de1') REPLY='--rpc-url - text JSON-RPC URL of the chain (GDN_RPC_URL, or the server'\''s node)
--gateway - text IPFS gateway (the server'\''s gateway)' ;;
    'flags-68dc64') REPLY='--contract -c @collections Address or name of the contract
--blockchain -b =blockchain Blockchain of the contract' ;;
    'reading-60a6c3') REPLY='--rpc-url - text JSON-RPC URL of the chain (GDN_RPC_URL, or the server'\''s node)
--requests-per-second - text Maximum rate of requests to the node (no limit)
--block - text List the holders at this block
--at - text List the holders at this time, such as 2026-11-01T00:00Z' ;;
    'choosing-32184b') REPLY='--min - text List only holders with at least this count
--exclude - file+ Exclude an address, a name, a group, or all entries of a file
--per - =per Print one line per token instead of per holder: token
--token-id - text List only holders of this token
--sample - text Draw a random sample of this many holders
--seed - text Text that seeds the draw (the hash of the block)
--no-ccip - - Reject ENS names that are resolved through gateways (CCIP-Read)' ;;
    'flags-ed07d5') REPLY='--contract -c @collections Address or name of the contract
--blockchain -b =blockchain Blockchain of the contract
--to - file File to write, such as tides.car
--force - - Overwrite an existing archive, but keep its files that can no longer be read
--whole-directory - - Also archive unreferenced files in the same directories' ;;
    'reading-2b1e76') REPLY='--rpc-url - text JSON-RPC URL of the chain (GDN_RPC_URL, or the server'\''s node)
--requests-per-second - text Maximum rate of requests to the node (no limit)
--block - text Block at which to read the tokens (the last final block)
--gateway - text+ Trustless IPFS gateway; repeatable (the server'\''s gateway)
--arweave-gateway - text Gateway for ar URLs (https://arweave.net)
--allow-private-files - - Also fetch files from private addresses (for development)' ;;
    'limits-0ec39d') REPLY='--max-file-size - text Maximum size of a file, such as 50MB (100MiB)
--max-size - text Maximum total size of the files (20GiB)' ;;
    'flags-16df06') REPLY='--contract -c @collections Address or name of the contract
--blockchain -b =blockchain Blockchain of the contract
--archive - file Archive to compare the collection with' ;;
    'output-7bedd8') REPLY='--output -o =output-2 Output format: table, json, ndjson, csv, ids or markdown (table)
--json - - Same as --output json
--fields - text Print only these fields
--for-spreadsheet - - Write CSV for spreadsheets, with formulas escaped
--quiet -q - Omit notes and progress
--no-color - - Disable colors
--no-input - - Disable prompts
--debug - - Print requests, timings and stack traces to stderr
--help -h - Help for this command' ;;
    'flags-db71d7') REPLY='--config - file Configuration of the backend (backend.yaml in the data directory)
--data-dir - dir Data directory of the backend (the local backend'\''s)
--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead
--intact - - Restore the intact blocks of a damaged archive' ;;
    'flags-136c6d') REPLY='--contract -c @collections Address or name of the collection to mint into
--contract-address ~ @collections Address or name of the collection to mint into
--contract-addresses ~ @collections Address or name of the collection to mint into
--blockchain -b =blockchain Blockchain of the collection
--receiver - @wallets Receiver: an address, @name or ENS name
--receiver-wallet-address ~ @wallets Receiver: an address, @name or ENS name
--file -f file JSON request or manifest, or - for standard input
--dynamic - - Mint dynamic NFTs, whose metadata can be updated
--no-ccip - - Reject ENS names that are resolved through gateways (CCIP-Read)' ;;
    'metadata-246efa') REPLY='--title - text Title
--description - text Description
--image - file Same as --media image=…
--media - pairfile+ Add a file; repeatable
--extra - text+ Add an extra metadata key; repeatable
--attr - text+ Add an attribute or a typed trait ('\''tag(number)=5'\''); repeatable' ;;
    'sending-and-waiting-b2d552') REPLY='--wait - - Wait until all NFTs are deployed (the default)
--no-wait - - Return when the request is accepted
--timeout - text How long the command may take (5m after acceptance)
--dry-run - - Print the request without sending it
--yes -y - Don'\''t prompt before spending coins that have value
--again - - Send another request, regardless of the outcome of earlier requests
--operation - text UUID of the operation to resume or to create' ;;
    'manifests-8116b0') REPLY='--run - @run-names Name that identifies the run (the manifest'\''s path)
--chunk-size - text NFTs per request (50)
--rate - text Maximum number of requests per second
--in-order - - Send rows in the manifest'\''s order
--map - text+ Rename or ignore a column: Mood=attr:Mood, Price=ignore; repeatable
--unknown-columns - =unknown-columns Treat unknown columns as attr, extra, ignore or error (error)
--allow-duplicates - - Mint duplicate rows without a prompt' ;;
    'flags-ced437') REPLY='--contract -c @collections Address or name of the collection to mint into
--contract-address ~ @collections Address or name of the collection to mint into
--contract-addresses ~ @collections Address or name of the collection to mint into
--blockchain -b =blockchain Blockchain of the collection
--sender - @wallets Address, @name or ENS name of the first owner (your profile'\''s wallet)
--sender-wallet-address ~ @wallets Address, @name or ENS name of the first owner (your profile'\''s wallet)
--receiver - @wallets Receiver: an address, @name or ENS name
--receiver-wallet-address ~ @wallets Receiver: an address, @name or ENS name
--file -f file JSON request, or - for standard input; flags override its fields
--no-ccip - - Reject ENS names that are resolved through gateways (CCIP-Read)' ;;
    'flags-62ab30') REPLY='--receiver - @wallets New owner: an address, @name or ENS name
--receiver-wallet-address ~ @wallets New owner: an address, @name or ENS name
--to ~ @wallets New owner: an address, @name or ENS name
--sender - @wallets Current owner
--sender-wallet-address ~ @wallets Current owner
--token-id - text Token ID
--tokenid ~ text Token ID
--contract -c @collections Address or name of the NFT'\''s collection
--contract-address ~ @collections Address or name of the NFT'\''s collection
--contract-addresses ~ @collections Address or name of the NFT'\''s collection
--blockchain -b =blockchain Blockchain of the NFT
--file -f file JSON request, or - for standard input; flags override its fields
--no-ccip - - Reject ENS names that are resolved through gateways (CCIP-Read)' ;;
    'sending-and-waiting-3ae51d') REPLY='--wait - - Wait until the owner changes (the default)
--no-wait - - Return when the request is accepted
--timeout - text How long the command may take (5m after acceptance)
--dry-run - - Print the request without sending it
--yes -y - Don'\''t prompt before spending coins that have value
--again - - Send another request, regardless of the outcome of earlier requests
--operation - text UUID of the operation to resume or to create' ;;
    'flags-8578f9') REPLY='--contract -c @collections Address or name of the collection to list
--contract-address ~ @collections Address or name of the collection to list
--contract-addresses ~ @collections Address or name of the collection to list
--blockchain -b =blockchain Blockchain of the collection
--limit - text List only the first n NFTs' ;;
    'flags-4bed9d') REPLY='--watch - - Show changes until nothing is in progress or you press Ctrl-C
--no-image - - Don'\''t draw the image
--gateway - text IPFS gateway for the image or metadata (the gdn backend'\''s gateway)
--contract -c @collections Collection of the token ID: address or name
--blockchain -b =blockchain Blockchain of a token
--rpc-url - text JSON-RPC URL of a token'\''s chain (GDN_RPC_URL, or the server'\''s node)' ;;
    'sending-and-waiting-6eeee0') REPLY='--timeout - text How long the command may take (5m)' ;;
    'flags-3d0ce9') REPLY='--file -f file JSON file that replaces all metadata, or - for standard input
--contract -c @collections Collection of the token ID: address or name
--blockchain -b =blockchain Blockchain of the NFT' ;;
    'sending-and-waiting-a91e0a') REPLY='--wait - - Wait until the NFT is updated (the default)
--no-wait - - Return when the request is accepted
--timeout - text How long the command may take (5m after acceptance)
--dry-run - - Show the changes without sending them
--yes -y - Don'\''t prompt before spending coins that have value
--again - - Send another request, regardless of the outcome of earlier requests
--operation - text UUID of the operation to resume or to create' ;;
    'flags-5c9e0d') REPLY='--contract -c @collections Collection of the token ID: address or name
--blockchain -b =blockchain Blockchain of the NFT' ;;
    'sending-and-waiting-a868c1') REPLY='--wait - - Wait until all NFTs are frozen (the default)
--no-wait - - Return when the request is accepted
--timeout - text How long the command may take (5m after acceptance)
--dry-run - - Show the NFTs without sending anything
--yes -y - Don'\''t prompt
--again - - Send another request, regardless of the outcome of earlier requests
--operation - text UUID of the operation to resume or to create' ;;
    'sending-and-waiting-d64d4f') REPLY='--wait - - Wait until all NFTs are burned (the default)
--no-wait - - Return when the request is accepted
--timeout - text How long the command may take (5m after acceptance)
--dry-run - - Show the NFTs without sending anything
--yes -y - Don'\''t prompt
--again - - Send another request, regardless of the outcome of earlier requests
--operation - text UUID of the operation to resume or to create' ;;
    'flags-e4deed') REPLY='--contract -c @collections Address or name of the collection
--contract-address ~ @collections Address or name of the collection
--contract-addresses ~ @collections Address or name of the collection
--blockchain -b =blockchain Blockchain of the collection
--run - @run-names Refresh the NFTs that this run minted
--rate - text Maximum number of requests per second (1)' ;;
    'marketplace-e708de') REPLY='--opensea-key-file - file File with the OpenSea API key
--opensea-url - text URL of another server with the OpenSea API' ;;
    'sending-and-waiting-db7524') REPLY='--timeout - text How long the command may take (no limit)' ;;
    'flags-763cff') REPLY='--contract -c @collections Collection of the token ID: address or name
--blockchain -b =blockchain Blockchain of a token' ;;
    'flags-7d85ae') REPLY='--receiver - @wallets Expected owner of the NFT
--owner ~ @wallets Expected owner of the NFT
--receiver-wallet-address ~ @wallets Expected owner of the NFT
--contract -c @collections Collection of the token ID: address or name
--blockchain -b =blockchain Blockchain of the NFT
--no-ccip - - Reject ENS names that are resolved through gateways (CCIP-Read)' ;;
    'verifying-5ceb4e') REPLY='--on-chain - - Also compare owner, token URI and metadata with the chain and the storage
--rpc-url - text JSON-RPC URL of the chain (GDN_RPC_URL, or the server'\''s node)
--gateway - text IPFS gateway (the server'\''s gateway)
--beacon-url - text+ drand relay for shuffled drops; repeatable
--beacon - file Beacon file that replaces drand in tests' ;;
    'flags-9432ff') REPLY='--format - =format Format: csv, json, jsonl (csv)
--blockchain -b =blockchain Blockchain of the collection (the configured one, or polygon)
--receiver - @wallets Receiver of the NFTs
--no-ccip - - Reject ENS names that are resolved through gateways (CCIP-Read)' ;;
    'server-da4928') REPLY='--state-dir - dir Directory of runs, recorded commands and saved addresses' ;;
    'output-d9d285') REPLY='--quiet -q - Omit notes and progress
--no-color - - Disable colors
--no-input - - Disable prompts
--debug - - Print requests, timings and stack traces to stderr
--help -h - Help for this command' ;;
    'flags-69dd9f') REPLY='--contract -c @collections Address or name of the drop'\''s collection
--contract-address ~ @collections Address or name of the drop'\''s collection
--contract-addresses ~ @collections Address or name of the drop'\''s collection
--blockchain -b =blockchain Blockchain of the collection
--receiver - @wallets Receiver for rows without one
--receiver-wallet-address ~ @wallets Receiver for rows without one
--sender - @wallets First owner of the NFTs whose row has no sender
--sender-wallet-address ~ @wallets First owner of the NFTs whose row has no sender
--no-ccip - - Reject ENS names that are resolved through gateways (CCIP-Read)
--map - text+ Rename or ignore a column: Mood=attr:Mood, Price=ignore; repeatable
--unknown-columns - =unknown-columns Treat unknown columns as attr, extra, ignore or error (error)
--check-files - - Also check that every file URL returns a file
--unrevealed - file Also check the placeholder, and apply the rules for unrevealed drops
--shuffle - - Use a later drand round to assign the rows to NFTs at random (requires --unrevealed)
--shuffle-margin - text Time from sealing the drop to the drand round, at least the time to finality (30m)
--for - =for Check the rules of a marketplace
--preview - - Draw the images of the first rows (terminal only)' ;;
    'flags-869258') REPLY='--traits - - List how many NFTs have each trait value, instead of ranking the NFTs
--limit - text Maximum number of results
--contract -c @collections Address or name of the drop'\''s collection
--contract-address ~ @collections Address or name of the drop'\''s collection
--contract-addresses ~ @collections Address or name of the drop'\''s collection
--blockchain -b =blockchain Blockchain of the collection
--receiver - @wallets Receiver for rows without one
--receiver-wallet-address ~ @wallets Receiver for rows without one
--sender - @wallets First owner of the NFTs whose row has no sender
--sender-wallet-address ~ @wallets First owner of the NFTs whose row has no sender
--no-ccip - - Reject ENS names that are resolved through gateways (CCIP-Read)
--map - text+ Rename or ignore a column: Mood=attr:Mood, Price=ignore; repeatable
--unknown-columns - =unknown-columns Treat unknown columns as attr, extra, ignore or error (error)' ;;
    'flags-3d8e6e') REPLY='--to - file File to write (<manifest>-preview.html)
--force - - Overwrite a file that gdn did not write
--open - - Open the file in the browser
--remote-images - - Let the page load images from the web
--contract -c @collections Address or name of the drop'\''s collection
--contract-address ~ @collections Address or name of the drop'\''s collection
--contract-addresses ~ @collections Address or name of the drop'\''s collection
--blockchain -b =blockchain Blockchain of the collection
--receiver - @wallets Receiver for rows without one
--receiver-wallet-address ~ @wallets Receiver for rows without one
--sender - @wallets First owner of the NFTs whose row has no sender
--sender-wallet-address ~ @wallets First owner of the NFTs whose row has no sender
--no-ccip - - Reject ENS names that are resolved through gateways (CCIP-Read)
--map - text+ Rename or ignore a column: Mood=attr:Mood, Price=ignore; repeatable
--unknown-columns - =unknown-columns Treat unknown columns as attr, extra, ignore or error (error)' ;;
    'flags-275674') REPLY='--contract -c @collections Address or name of the drop'\''s collection
--contract-address ~ @collections Address or name of the drop'\''s collection
--contract-addresses ~ @collections Address or name of the drop'\''s collection
--blockchain -b =blockchain Blockchain of the collection
--receiver - @wallets Receiver for rows without one
--receiver-wallet-address ~ @wallets Receiver for rows without one
--sender - @wallets First owner of the NFTs whose row has no sender
--sender-wallet-address ~ @wallets First owner of the NFTs whose row has no sender
--no-ccip - - Reject ENS names that are resolved through gateways (CCIP-Read)
--map - text+ Rename or ignore a column: Mood=attr:Mood, Price=ignore; repeatable
--unknown-columns - =unknown-columns Treat unknown columns as attr, extra, ignore or error (error)
--check-files - - Also check that every file URL returns a file
--allow-private-files - - Also fetch files from private addresses (for development)
--allow-html-files - - Also store HTML files, from uploads and file URLs
--ipfs-gateway - text Fetch, verify and store ipfs:// files from this trustless gateway
--require-stored-files - - Fail NFTs whose ipfs:// or ar:// files the backend can'\''t store
--config - file Configuration of the backend (backend.yaml in the data directory)
--data-dir - dir Data directory of the backend (the local backend'\''s)
--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead' ;;
    'run-cb7e0b') REPLY='--run - @run-names Name that identifies the run (the manifest'\''s path)
--again - - Mint a finished run again, or rows that were accepted in another run
--new-rows - - Mint new rows even if sent rows are missing from the manifest
--allow-duplicates - - Mint duplicate rows without a prompt
--adopt - - Treat rows that are already in the collection as minted by this run
--allow-exchanged - - Allow rows to exchange values, content or IDs
--no-lookup - - Don'\''t search the collection for rows before sending; with --dry-run, don'\''t contact the server
--marker-key - text Metadata key for a unique public value that identifies each row
--dynamic - - Mint dynamic NFTs, whose metadata can be updated
--chunk-size - text NFTs per request (50)
--rate - text Maximum number of requests per second
--upload-concurrency - text Number of concurrent uploads of local files (8)
--listing-wait - text How long to wait for an up-to-date list of NFTs (30s, longer if the list lags)
--in-order - - Send rows in the manifest'\''s order' ;;
    'flags-993fb6') REPLY='--contract -c @collections Address or name of the drop'\''s collection
--contract-address ~ @collections Address or name of the drop'\''s collection
--contract-addresses ~ @collections Address or name of the drop'\''s collection
--blockchain -b =blockchain Blockchain of the collection
--receiver - @wallets Receiver for rows without one
--receiver-wallet-address ~ @wallets Receiver for rows without one
--sender - @wallets First owner of the NFTs whose row has no sender
--sender-wallet-address ~ @wallets First owner of the NFTs whose row has no sender
--no-ccip - - Reject ENS names that are resolved through gateways (CCIP-Read)
--map - text+ Rename or ignore a column: Mood=attr:Mood, Price=ignore; repeatable
--unknown-columns - =unknown-columns Treat unknown columns as attr, extra, ignore or error (error)
--check-files - - Also check that every file URL returns a file' ;;
    'receivers-ea0bb1') REPLY='--to - file Mint the only row to each receiver in a CSV file (receiver[,count]) or a group, such as @team
--to-stdin - - Read the list of receivers from standard input
--merge - - Add up the counts of receivers that are listed more than once
--skip-contracts - - Skip receivers that are contracts or burn addresses' ;;
    'run-ec44fa') REPLY='--run - @run-names Name that identifies the run (the manifest'\''s path)
--again - - Mint a finished run again, or rows that were accepted in another run
--new-rows - - Mint new rows even if sent rows are missing from the manifest
--allow-duplicates - - Mint duplicate rows without a prompt
--adopt - - Treat rows that are already in the collection as minted by this run
--allow-exchanged - - Allow rows to exchange values, content or IDs
--no-lookup - - Don'\''t search the collection for rows before sending; with --dry-run, don'\''t contact the server
--marker-key - text Metadata key for a unique public value that identifies each row
--dynamic - - Mint dynamic NFTs, whose metadata can be updated
--chunk-size - text NFTs per request (50)
--batch-size ~ text NFTs per request (50)
--rate - text Maximum number of requests per second
--upload-concurrency - text Number of concurrent uploads of local files (8)
--listing-wait - text How long to wait for an up-to-date list of NFTs (30s, longer if the list lags)
--in-order - - Send rows in the manifest'\''s order
--unrevealed - file Mint with the placeholder metadata in this JSON file, and commit to the rows for `gdn reveal`
--shuffle - - Use a later drand round to assign the rows to NFTs at random (requires --unrevealed)
--shuffle-margin - text Time from sealing the drop to the drand round, at least the time to finality (30m)' ;;
    'sending-and-waiting-767588') REPLY='--wait - - Wait until all NFTs are deployed (the default)
--no-wait - - Return when all requests are accepted
--timeout - text How long the command may take (5m after acceptance)
--dry-run - - Run all checks without sending anything
--yes -y - Don'\''t prompt before spending coins that have value, or if rows were edited' ;;
    'verifying-4972e5') REPLY='--verify - - Compare owner, token URI and metadata with the chain and the storage; exit code 5 if something differs
--rpc-url - text JSON-RPC URL of the chain (GDN_RPC_URL, or the server'\''s node)
--gateway - text IPFS gateway (the server'\''s gateway)' ;;
    'cost-842c67') REPLY='--price - text Price of the network'\''s coin: 3100 (USD) or 3100EUR
--rpc-url-file - file File with the JSON-RPC URL from which to read the fees of the network
--max-cost - text Maximum cost of the run: 0.5 (coins) or 10USD
--max-fee-gwei - text Maximum gas price; the run waits while the price is higher' ;;
    'flags-adadad') REPLY='--all - - Include single commands, each as a run of one request' ;;
    'flags-17b427') REPLY='--contract -c @collections Address or name of the collection, if several runs match
--watch - - Show changes until nothing is in progress or you press Ctrl-C
--costs - - Get the current cost of the run from its server' ;;
    'flags-090a66') REPLY='--contract -c @collections Address or name of the collection, if several runs match
--retry-failed - - Also retry rows that were rejected or whose NFT failed' ;;
    'run-a38e3e') REPLY='--chunk-size - text NFTs per request (50)
--batch-size ~ text NFTs per request (50)
--rate - text Maximum number of requests per second
--upload-concurrency - text Number of concurrent uploads of local files (8)
--listing-wait - text How long to wait for an up-to-date list of NFTs (30s, longer if the list lags)' ;;
    'flags-263dfc') REPLY='--contract -c @collections Address or name of the collection, if several runs match
--absent - - Retry absent rows with an unknown outcome instead of failed rows' ;;
    'flags-486742') REPLY='--contract -c @collections Address or name of the collection, if several runs match
--row - text+ Set the outcome of a row: the ID of its NFT, or absent; repeatable' ;;
    'run-d19a3d') REPLY='--rate - text Maximum number of requests per second
--upload-concurrency - text Number of concurrent uploads of local files (8)
--listing-wait - text How long to wait for an up-to-date list of NFTs (30s, longer if the list lags)' ;;
    'flags-2d031d') REPLY='--contract -c @collections Address or name of the collection, if several runs match
--status - ,status Show only rows in these states: pending, accepted, deployed, failed, unknown, burned, abandoned
--costs - - Also print the cost that the server reports for the run' ;;
    'flags-6ac953') REPLY='--contract -c @collections Address or name of the collection, if several runs match
--to - file File to write (<run>-report.html)
--force - - Overwrite a file that gdn did not write
--open - - Open the file in the browser
--gateway - text IPFS gateway for images and links (the server'\''s own)' ;;
    'flags-a1e007') REPLY='--contract -c @collections Address or name of the collection, if several runs match
--finished - - Delete all finished runs, or only those on the selected server or in the selected collection
--yes -y - Delete without a prompt' ;;
    'flags-007ca7') REPLY='--count - text Number of NFTs, including one-of-ones
--seed - text Text that seeds the random choices (gdn)
--strict - - Fail if trait counts differ from the weights
--fit - =fit How to scale images whose size differs from the output: contain, cover, fill' ;;
    'flags-58bd54') REPLY='--count - text Number of NFTs, including one-of-ones
--seed - text Text that seeds the random choices (gdn)
--sample - text Number of NFTs in the sample (12)
--fit - =fit How to scale images whose size differs from the output: contain, cover, fill
--out - file Write a page to this file (art-preview.html with --open)
--force - - Overwrite a file that gdn did not write
--open - - Open the page in the browser' ;;
    'flags-a8f9e7') REPLY='--count - text Number of NFTs, including one-of-ones
--seed - text Text that seeds the random choices (gdn)
--out - text Output folder
--strict - - Fail if trait counts differ from the weights
--from - text Number of the first NFT to generate (1)
--only - text Number of NFTs to generate (all)
--fit - =fit How to scale images whose size differs from the output: contain, cover, fill
--threads - text Number of images to generate concurrently (one per core, at most 8)
--clean - - Delete unfinished folders that have different settings' ;;
    'flags-685e02') REPLY='--out - file Manifest to write (manifest.csv)
--force - - Overwrite an existing file' ;;
    'flags-c488da') REPLY='--contract -c @collections Address or name of the drop'\''s collection
--contract-address ~ @collections Address or name of the drop'\''s collection
--contract-addresses ~ @collections Address or name of the drop'\''s collection
--blockchain -b =blockchain Blockchain of the collection
--receiver - @wallets Receiver for rows without one
--receiver-wallet-address ~ @wallets Receiver for rows without one
--sender - @wallets First owner of the NFTs whose row has no sender
--sender-wallet-address ~ @wallets First owner of the NFTs whose row has no sender
--no-ccip - - Reject ENS names that are resolved through gateways (CCIP-Read)
--map - text+ Rename or ignore a column: Mood=attr:Mood, Price=ignore; repeatable
--unknown-columns - =unknown-columns Treat unknown columns as attr, extra, ignore or error (error)
--run - @run-names Name that identifies the run (the manifest'\''s path)
--rate - text Maximum number of requests per second
--take-over - - Replace changes made outside the manifest with the values of the manifest
--new-rows - - Mint new rows even if sent rows are missing from the manifest
--adopt - - Use the NFTs of a manifest that was moved or renamed
--allow-exchanged - - Allow rows to exchange values, content or IDs
--beacon-url - text+ drand relay for shuffled drops; repeatable
--beacon - file Beacon file that replaces drand in tests
--prune - - Burn NFTs of this run whose rows are no longer in the manifest
--allow-duplicates - - Mint duplicate rows without a prompt
--detailed-exit-code - - Exit with code 10 if there are changes, including impossible ones
--out - file Save the plan for `gdn apply`' ;;
    'flags-c380c0') REPLY='--contract -c @collections Address or name of the drop'\''s collection
--contract-address ~ @collections Address or name of the drop'\''s collection
--contract-addresses ~ @collections Address or name of the drop'\''s collection
--blockchain -b =blockchain Blockchain of the collection
--receiver - @wallets Receiver for rows without one
--receiver-wallet-address ~ @wallets Receiver for rows without one
--sender - @wallets First owner of the NFTs whose row has no sender
--sender-wallet-address ~ @wallets First owner of the NFTs whose row has no sender
--no-ccip - - Reject ENS names that are resolved through gateways (CCIP-Read)
--map - text+ Rename or ignore a column: Mood=attr:Mood, Price=ignore; repeatable
--unknown-columns - =unknown-columns Treat unknown columns as attr, extra, ignore or error (error)
--run - @run-names Name that identifies the run (the manifest'\''s path)
--rate - text Maximum number of requests per second
--take-over - - Replace changes made outside the manifest with the values of the manifest
--new-rows - - Mint new rows even if sent rows are missing from the manifest
--adopt - - Use the NFTs of a manifest that was moved or renamed
--allow-exchanged - - Allow rows to exchange values, content or IDs
--beacon-url - text+ drand relay for shuffled drops; repeatable
--beacon - file Beacon file that replaces drand in tests
--only - =only Make only one kind of change: mint
--prune - - Accept only a plan that was saved with --prune
--max-burns - text Maximum number of NFTs to burn (0 without a prompt)
--allow-duplicates - - Mint duplicate rows without a prompt' ;;
    'cost-6f1f63') REPLY='--max-cost - text Maximum cost of the run: 0.5 (coins) or 10USD
--price - text Price of the network'\''s coin: 3100 (USD) or 3100EUR' ;;
    'marketplace-fd045b') REPLY='--refresh - - Refresh the changed metadata on OpenSea afterwards
--opensea-key-file - file File with the OpenSea API key
--opensea-url - text URL of another server with the OpenSea API' ;;
    'sending-and-waiting-50fb0b') REPLY='--timeout - text How long the command may take (5m after acceptance)
--yes -y - Don'\''t prompt' ;;
    'flags-6bcdea') REPLY='--contract -c @collections Address or name of the drop'\''s collection
--contract-address ~ @collections Address or name of the drop'\''s collection
--contract-addresses ~ @collections Address or name of the drop'\''s collection
--blockchain -b =blockchain Blockchain of the collection
--receiver - @wallets Receiver for rows without one
--receiver-wallet-address ~ @wallets Receiver for rows without one
--sender - @wallets First owner of the NFTs whose row has no sender
--sender-wallet-address ~ @wallets First owner of the NFTs whose row has no sender
--no-ccip - - Reject ENS names that are resolved through gateways (CCIP-Read)
--map - text+ Rename or ignore a column: Mood=attr:Mood, Price=ignore; repeatable
--unknown-columns - =unknown-columns Treat unknown columns as attr, extra, ignore or error (error)
--run - @run-names Name that identifies the run (the manifest'\''s path)
--adopt - - Use the NFTs of a manifest that was moved or renamed
--abandon-rows - text Number of unminted rows of a shuffled drop to abandon permanently' ;;
    'sending-and-waiting-eb853f') REPLY='--dry-run - - Check the manifest and its NFTs without sending anything
--timeout - text How long the command may take (5m after acceptance)
--yes -y - Don'\''t prompt' ;;
    'verifying-7109df') REPLY='--rpc-url - text JSON-RPC URL of the chain (GDN_RPC_URL, or the server'\''s node)
--gateway - text IPFS gateway (the server'\''s gateway)
--beacon-url - text+ drand relay for shuffled drops; repeatable
--beacon - file Beacon file that replaces drand in tests' ;;
    'flags-e6f761') REPLY='--contract -c @collections Address or name of the drop'\''s collection
--contract-address ~ @collections Address or name of the drop'\''s collection
--contract-addresses ~ @collections Address or name of the drop'\''s collection
--blockchain -b =blockchain Blockchain of the collection
--receiver - @wallets Receiver for rows without one
--receiver-wallet-address ~ @wallets Receiver for rows without one
--sender - @wallets First owner of the NFTs whose row has no sender
--sender-wallet-address ~ @wallets First owner of the NFTs whose row has no sender
--no-ccip - - Reject ENS names that are resolved through gateways (CCIP-Read)
--map - text+ Rename or ignore a column: Mood=attr:Mood, Price=ignore; repeatable
--unknown-columns - =unknown-columns Treat unknown columns as attr, extra, ignore or error (error)
--dynamic - - Estimate the cost of dynamic NFTs, whose metadata can be updated' ;;
    'cost-61e4fe') REPLY='--price - text Price of the network'\''s coin: 3100 (USD) or 3100EUR
--rpc-url-file - file File with the JSON-RPC URL from which to read the fees of the network' ;;
    'flags-cd1130') REPLY='--name - text Name of the wallet (wallet-1, wallet-2, …)
--count - text Number of wallets, named <name>-1, <name>-2, …
--offline - - Generate the key on this machine, without a server
--blockchain -b =blockchain Blockchain of the wallet, with --offline (EVM)
--password-file - file File with the password, or - for standard input
--weak-password - - Accept a password of fewer than 8 characters, for tests
--show-private-key - - Also print the private key
--email - text E-mail address of the account (your profile'\''s email)
--valid-for - text How long the signed URL is valid, such as 24h; at most 7d' ;;
    'flags-081201') REPLY='--name - text Name of the wallet (wallet-1, wallet-2, …)
--blockchain -b =blockchain Blockchain of a mnemonic (EVM)
--path - text Derivation path of a mnemonic (m/44'\''/60'\''/0'\''/0/0; Solana m/44'\''/501'\''/0'\''/0'\'')
--password-file - file File with the password, or - for standard input
--weak-password - - Accept a password of fewer than 8 characters, for tests' ;;
    'flags-44913c') REPLY='--email - text E-mail address of the account (your profile'\''s email)
--valid-for - text How long the signed URL is valid, such as 24h; at most 7d' ;;
    'flags-36b1ec') REPLY='--from - file CSV file with the columns name, address and groups, or - for standard input' ;;
    'flags-a65d41') REPLY='--add - text+ Name or address to add to the group; repeatable
--remove - text+ Member to remove from the group; repeatable' ;;
    'flags-4f1d06') REPLY='--format - =format-2 Format: keystore, private-key, or keypair for Solana (keystore)
--to - file New file to write, or - for standard output
--password-file - file File with the password, or - for standard input' ;;
    'output-fdabd3') REPLY='--json - - Print the exported file and its format as JSON
--quiet -q - Omit notes and progress
--no-color - - Disable colors
--no-input - - Disable prompts
--debug - - Print requests, timings and stack traces to stderr
--help -h - Help for this command' ;;
    'flags-9a6469') REPLY='--format - =format-3 Contract that verifies the proofs: oz, thirdweb, seadrop
--params - file JSON file with the MintParams of SeaDrop
--out - dir New directory for the root, the tree and the proofs
--force - - Replace an earlier directory of proofs' ;;
    'flags-d0057d') REPLY='--port - text Port to listen on (the last one, or 4680); 0 selects a free port
--rate-limits - =rate-limits Rate limits of the API (on)
--api-version - =api-version API version for keys that have no version (1.1)
--allow-private-files - - Also fetch files from private addresses (for development)
--allow-html-files - - Also store HTML files, from uploads and file URLs
--ipfs-gateway - text Fetch, verify and store ipfs:// files from this trustless gateway
--require-stored-files - - Fail NFTs whose ipfs:// or ar:// files the backend can'\''t store' ;;
    'flags-54ec35') REPLY='--follow -f - Show new lines until you press Ctrl-C
--lines - text Number of lines to show, from the end (100)' ;;
    'flags-409646') REPLY='--forward-to - text+ URL to post events to, or <events>=<url>; repeatable
--event - ,event+ Event types to show; repeatable ('\''*'\'')
--email - text E-mail address of the account (the local account)
--data-dir - dir Data directory of the backend (the local backend'\''s)
--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead' ;;
    'output-a80a99') REPLY='--json - - Print a line of JSON for each event and each response
--quiet -q - Omit notes and progress
--no-color - - Disable colors
--no-input - - Disable prompts
--debug - - Print requests, timings and stack traces to stderr
--help -h - Help for this command' ;;
    'flags-799fb7') REPLY='--yes -y - Don'\''t prompt' ;;
    'flags-1dfdcb') REPLY='--rate-limits - =rate-limits Rate limits of the API (on)
--api-version - =api-version API version for keys that have no version (1.1)
--allow-private-files - - Also fetch files from private addresses (for development)
--allow-html-files - - Also store HTML files, from uploads and file URLs
--ipfs-gateway - text Fetch, verify and store ipfs:// files from this trustless gateway
--require-stored-files - - Fail NFTs whose ipfs:// or ar:// files the backend can'\''t store
--faults - file Inject the faults that this file defines
--fork - text Fork this network; instead of the URL, use @<file>, or set GDN_FORK_URL' ;;
    'flags-498f1e') REPLY='--host - text Address to listen on (127.0.0.1)
--port - text Port to listen on (4680); 0 selects a free port
--data-dir - dir Data directory of the backend
--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead
--role - =role Role: api handles requests, worker processes jobs, all does both (all)
--rate-limits - =rate-limits Rate limits of the API (on)
--api-version - =api-version API version for keys that have no version (1.1)
--allow-private-files - - Also fetch files from private addresses (for development)
--allow-html-files - - Also store HTML files, from uploads and file URLs
--ipfs-gateway - text Fetch, verify and store ipfs:// files from this trustless gateway
--require-stored-files - - Fail NFTs whose ipfs:// or ar:// files the backend can'\''t store
--allowed-host - text+ Accept requests to this host, in addition to loopback hosts; repeatable
--tls-cert - file Serve HTTPS with this PEM certificate and its chain
--tls-key - file PEM private key of the certificate, with mode 0600; SIGHUP reloads both files
--trust-proxy - text+ Trust X-Forwarded-* headers from this address or network; repeatable
--allow-local-key - - Also accept the local account'\''s key from other machines
--max-connections - text Maximum number of open connections (2000)
--max-connections-per-address - text Maximum number of connections from one remote address (200)
--single-use-urls - - Let each signed URL generate only one wallet
--drain - text Keep serving for this time after SIGTERM, while /readyz returns 503 (0s)
--log-level - =log-level Log level: silent, info or debug (readable warnings, or info with --log-file)
--log-file - file Write the log to this file instead of stderr
--config - file Configuration of the backend (backend.yaml in the data directory)
--faults - file Inject the faults that this file defines, for tests' ;;
    'output-990dbf') REPLY='--json - - Print one line of JSON when the backend is ready
--quiet -q - Omit notes and progress
--no-color - - Disable colors
--no-input - - Disable prompts
--debug - - Print requests, timings and stack traces to stderr
--help -h - Help for this command' ;;
    'flags-276b68') REPLY='--data-dir - dir Directory for the configuration and for locally stored files
--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead
--config - file Configuration of the backend (backend.yaml in the data directory)
--concurrency - text Maximum number of NFTs whose files are fetched at once (64)
--chain - text+ Process only the jobs of this blockchain; repeatable
--health-port - text Port that serves /healthz, /readyz and /metrics; 0 selects a free port
--host - text Address of the health port (127.0.0.1)
--allow-private-files - - Also fetch files from private addresses (for development)
--allow-html-files - - Also store HTML files, from uploads and file URLs
--ipfs-gateway - text Fetch, verify and store ipfs:// files from this trustless gateway
--require-stored-files - - Fail NFTs whose ipfs:// or ar:// files the backend can'\''t store
--log-level - =log-level Log level: silent, info or debug (readable warnings, or info with --log-file)
--log-file - file Write the log to this file instead of stderr' ;;
    'output-e9ede5') REPLY='--json - - Print one line of JSON when the worker is ready
--quiet -q - Omit notes and progress
--no-color - - Disable colors
--no-input - - Disable prompts
--debug - - Print requests, timings and stack traces to stderr
--help -h - Help for this command' ;;
    'flags-5f02cc') REPLY='--print - - Print the URL without opening it
--contract -c @collections Address or name of the collection, if several runs match
--no-ccip - - Reject ENS names that are resolved through gateways (CCIP-Read)' ;;
    'output-3c06f6') REPLY='--json - - Print the URL as JSON without opening it
--quiet -q - Omit notes and progress
--no-color - - Disable colors
--no-input - - Disable prompts
--debug - - Print requests, timings and stack traces to stderr
--help -h - Help for this command' ;;
    'flags-ef163f') REPLY='--config - file Configuration of the backend (backend.yaml in the data directory)
--data-dir - dir Data directory of the backend (the local backend'\''s)
--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead' ;;
    'flags-2a70f6') REPLY='--admin-keystore - file Keystore of the factory'\''s admin
--password-file - file File with the password, or - for standard input
--factory - text Address of an existing factory of this admin
--dry-run - - Show the transactions and their maximum cost without sending them
--yes -y - Don'\''t prompt before spending
--config - file Configuration of the backend (backend.yaml in the data directory)
--data-dir - dir Data directory of the backend (the local backend'\''s)
--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead' ;;
    'sending-and-waiting-1cb25c') REPLY='--timeout - text How long the command may take (1h after you confirm)' ;;
    'flags-9273c0') REPLY='--etherscan-key-file - file File with the Etherscan API key
--sourcify-url - text URL of another Sourcify server
--etherscan-url - text URL of another Etherscan API
--creation-tx - text Hash of the transaction that deployed the factory
--to - file Write the standard JSON input to a new file without submitting it
--config - file Configuration of the backend (backend.yaml in the data directory)
--data-dir - dir Data directory of the backend (the local backend'\''s)
--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead' ;;
    'sending-and-waiting-aeee81') REPLY='--timeout - text How long the command may take (5m for the results)' ;;
    'flags-ec747d') REPLY='--blockchain -b =blockchain Show only transactions on this blockchain
--state - =state Show only transactions in this state: signed, mined, confirmed, final, reverted, lost, cancelled
--limit - text Maximum number of transactions (50)
--data-dir - dir Data directory of the backend (the local backend'\''s)
--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead' ;;
    'flags-f61f07') REPLY='--data-dir - dir Data directory of the backend (the local backend'\''s)
--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead' ;;
    'flags-a4ed35') REPLY='--yes -y - Don'\''t prompt before spending
--data-dir - dir Data directory of the backend (the local backend'\''s)
--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead' ;;
    'flags-94197e') REPLY='--yes -y - Don'\''t prompt
--data-dir - dir Data directory of the backend (the local backend'\''s)
--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead' ;;
    'flags-39c119') REPLY='--all - - Include released mints
--data-dir - dir Data directory of the backend (the local backend'\''s)
--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead' ;;
    'flags-f6ee49') REPLY='--fail-pending - - Fail the pending NFTs instead of minting them
--yes -y - Don'\''t prompt
--data-dir - dir Data directory of the backend (the local backend'\''s)
--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead' ;;
    'flags-05de4e') REPLY='--name - text Name of the key
--email - text E-mail address of the account; gdn creates the account if it does not exist
--permission - ,permission+ Permissions of the key; repeatable
--expires - text Expiry: 30d, 12h, or the last day in UTC, such as 2027-01-31 (never)
--api-version - =api-version API version of the key (the backend'\''s)
--data-dir - dir Data directory of the backend (the local backend'\''s)
--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead' ;;
    'flags-f80909') REPLY='--event - ,event+ Event types to deliver; repeatable
--email - text E-mail address of the account (the local account)
--data-dir - dir Data directory of the backend (the local backend'\''s)
--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead' ;;
    'flags-5cd448') REPLY='--url - text New URL
--event - ,event+ Event types to deliver; repeatable
--data-dir - dir Data directory of the backend (the local backend'\''s)
--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead' ;;
    'flags-d78a9e') REPLY='--state - =state-2 Show only deliveries in this state: waiting, delivered, failed
--limit - text Maximum number of deliveries (50)
--data-dir - dir Data directory of the backend (the local backend'\''s)
--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead' ;;
    'flags-c76001') REPLY='--id - text+ IDs of the events; repeatable
--since - text Replay all events of this period, such as 24h, including delivered ones
--data-dir - dir Data directory of the backend (the local backend'\''s)
--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead' ;;
    'flags-0a57d1') REPLY='--hosted - - Use a hosted service
--local - - Use the local backend (gdn local start)
--base-url - text URL of the service
--key-file - file File with the API key, or - for standard input
--store - =store Where to store the key (the keyring, if available)
--blockchain -b =blockchain Default blockchain
--wallet - @wallets Default wallet
--profile - @profiles Name of the profile (default, or local for the local backend)
--start - - Start the local backend
--no-start - - Don'\''t start the local backend
--no-check - - Don'\''t check the server and the key
--yes -y - Replace an existing profile with this name' ;;
    'flags-4dc24c') REPLY='--key-file - file File with the key, or - for standard input
--store - =store Where to store the key (the keyring, if available)
--no-check - - Save the key without checking it' ;;
    'flags-6a47ec') REPLY='--check - - Check each key with its server; exit code 4 if a key is rejected, 6 if a server is unreachable' ;;
    'flags-ba0c83') REPLY='--all - - Delete every saved key' ;;
    'flags-31a1f1') REPLY='--profile - @profiles Profile to change
--base-url - text With api_key: URL of the server for the key' ;;
    'flags-a7d54b') REPLY='--profile - @profiles Profile to change
--base-url - text With api_key: URL of the server whose key is deleted' ;;
    'flags-672c77') REPLY='--profiles - - List the profiles instead of the configuration' ;;
    'flags-dde1fc') REPLY='--config - file Configuration of a backend to check
--data-dir - dir Data directory of the backend (the local backend'\''s)
--database-url - text PostgreSQL URL of the backend; if it contains a password, set GDN_DATABASE_URL instead' ;;
    'flags-3898da') REPLY='--file -f file JSON request, or - for standard input
--input ~ file JSON request, or - for standard input
--field - text+ Field of the request; key[]= adds to a list, key:= accepts JSON; repeatable
--idempotency-key - text Idempotency key of a request that creates something (a new key)
--dry-run - - Print the request without sending it
--yes -y - Don'\''t prompt before spending coins that have value' ;;
    'output-986f87') REPLY='--json - - Print the response on one line, even in a terminal
--quiet -q - Omit notes and progress
--no-color - - Disable colors
--no-input - - Disable prompts
--debug - - Print requests, timings and stack traces to stderr
--help -h - Help for this command' ;;
    'permissions-of-the-agent-5510da') REPLY='--allow-writes - - Offer tools that change something
--allow-spending - - Let tools spend coins on public networks, up to --max-cost
--max-cost - text Maximum cost of the session, with its currency: 5POL or 10USD
--root - dir Directory that tools can read and write (the current directory)
--password-file - file File with the password of the wallets that tools generate or use for signing
--toolsets - ,toolsets Toolsets to offer: default, nfts, runs, wallets, backend, config or all (the toolset default)
--no-ccip - - Reject ENS names that are resolved through gateways (CCIP-Read)' ;;
    'flags-b36207') REPLY='--call-timeout - text How long a call waits before it returns `running` (50s)' ;;
    'gdn') REPLY='--help -h - Help for the command
--quiet -q - Omit notes and progress
--no-input - - Disable prompts
--no-color - - Disable colors
--debug - - Print requests, timings and stack traces to stderr
--version -V - Print the version
--base-url - text URL of the server
--profile - @profiles Configuration profile to use
--state-dir - dir Directory of runs, recorded commands and saved addresses
--output -o =output Output format: table, json, ndjson, csv or ids (table)
--fields - text Print only these fields' ;;
    'help') REPLY='--help -h - Help for the command
--quiet -q - Omit notes and progress
--no-input - - Disable prompts
--no-color - - Disable colors
--debug - - Print requests, timings and stack traces to stderr
--version -V - Print the version
--json - - The command tree as JSON' ;;
    *) REPLY='' ;;
  esac
}

__gdn_values() {
  case $1 in
    'blockchain') REPLY='polygon
polygon-mumbai
astar
astar-shiden
astar-shibuya
avalanche
avalanche-fuji
optimism
optimism-goerli
fantom
fantom-testnet
bnb-mainnet
bnb-testnet
arbitrum-one
arbitrum-nova
arbitrum-testnet
moonbeam
moonbase
moonriver
ethereum
ethereum-sepolia
base
base-sepolia
arbitrum-sepolia
optimism-sepolia
polygon-amoy
zora
linea
scroll
sonic
solana
solana-testnet' ;;
    'output') REPLY='table
json
ndjson
csv
ids' ;;
    'per') REPLY='token' ;;
    'output-2') REPLY='table
json
ndjson
csv
ids
markdown' ;;
    'unknown-columns') REPLY='error
attr
extra
ignore' ;;
    'format') REPLY='csv
json
jsonl' ;;
    'for') REPLY='opensea' ;;
    'status') REPLY='pending
accepted
deployed
failed
unknown
burned
abandoned' ;;
    'fit') REPLY='contain
cover
fill' ;;
    'only') REPLY='mint' ;;
    'format-2') REPLY='keystore
private-key
keypair' ;;
    'format-3') REPLY='oz
thirdweb
seadrop' ;;
    'rate-limits') REPLY='on
off' ;;
    'api-version') REPLY='1.1
1.2' ;;
    'event') REPLY='nft.deployed
nft.failed
collection.deployed
collection.failed
transfer.deployed
transfer.failed
burn.deployed
burn.failed
update.deployed
update.failed
freeze.deployed
freeze.failed
provenance.deployed
provenance.failed
*' ;;
    'role') REPLY='all
api
worker' ;;
    'log-level') REPLY='silent
info
debug' ;;
    'state') REPLY='signed
mined
confirmed
final
reverted
lost
cancelled' ;;
    'permission') REPLY='collection:create
nft:create
nft:transfer
nft:update
nft:burn
nft:read
wallet:create
all' ;;
    'event-2') REPLY='nft.deployed
nft.failed
collection.deployed
collection.failed
transfer.deployed
transfer.failed
burn.deployed
burn.failed
update.deployed
update.failed
freeze.deployed
freeze.failed
provenance.deployed
provenance.failed' ;;
    'state-2') REPLY='waiting
delivered
failed' ;;
    'store') REPLY='keyring
file' ;;
    'name') REPLY='profile
base_url
blockchain
contract
wallet
rate
api_version
map
unknown_columns
storage
storage_endpoint
storage_region
storage_public_url
ipfs_api
email
wallet_url
price_url
price_path
price_currency
ens_rpc_url' ;;
    'name-2') REPLY='profile
api_key
base_url
blockchain
contract
wallet
rate
api_version
storage
storage_endpoint
storage_region
storage_public_url
ipfs_api
email
wallet_url
price_url
price_path
price_currency
ens_rpc_url' ;;
    'shell') REPLY='bash
zsh
fish
powershell' ;;
    'endpoint') REPLY='createnft
transfernft
createnfttrans
getnftgdnids
getnfts
getisgdnnft
createcollection
creatednft
updatednft
getpresignedurl
getcollections
getcollectionsettings
freezenft
burnnft
commitprovenance
getprovenances
gettransactions
getnfthistory
getnftowners
getsupply
getreferences
getcontentreferences
relabelreferences
aliasreferences
getfees
getruncosts
setrunmaxcost
setrunmaxfee' ;;
    'name-3') REPLY='manifest
manifest-row
metadata
createcollection
createnft
createnfttrans
transfernft
creatednft
updatednft
freezenft
burnnft
commitprovenance
art
config
user-config
backend' ;;
    'toolsets') REPLY='default
nfts
runs
wallets
backend
config
all' ;;
    *) REPLY='' ;;
  esac
}

# Sets REPLY to the flags of a command, one per line; for "gdn", to the flags that may precede a command.
__gdn_flags_of() {
  local bundle lines=''
  __gdn_bundles "$1"
  for bundle in ${REPLY:-$1}; do
    __gdn_flags "$bundle"
    lines+=$REPLY$'\n'
  done
  REPLY=$lines
}

# Sets REPLY to the kind of value that the flag $2 takes, according to the flags in $1; empty for an unknown flag.
__gdn_takes() {
  local name short takes rest
  while read -r name short takes rest; do
    if [[ $2 == "$name" || $2 == "$short" ]]; then
      REPLY=${takes%+}
      return
    fi
  done <<<"$1"
  REPLY=''
}

# Offers the value $1 with the description $2 if the value begins with the typed text.
__gdn_offer() {
  [[ $1 == "$__gdn_typed"* ]] || return
  __gdn_values_found+=("$1")
  __gdn_whats_found+=("$2")
}

__gdn_offer_lines() {
  local value what
  while read -r value what; do
    if [[ -n $value ]]; then __gdn_offer "$__gdn_before$value" "$what"; fi
  done <<<"$1"
}

__gdn_offer_flags() {
  local name short takes what
  while read -r name short takes what; do
    [[ -z $name || $short == '~' ]] && continue
    if [[ $takes != *+ && " ${__gdn_line[*]-} " == *" $name "* ]]; then continue; fi
    __gdn_offer "$name" "$what"
    if [[ $short != - ]]; then __gdn_offer "$short" "$what"; fi
  done <<<"$1"
}

__gdn_offer_paths() {
  if type compopt >/dev/null 2>&1; then
    compopt -o "$1" 2>/dev/null
    return
  fi
  local path action=-f
  if [[ $1 == dirnames ]]; then action=-d; fi
  while IFS= read -r path; do COMPREPLY+=("$path"); done < <(compgen "$action" -- "${__gdn_typed#"$__gdn_before"}")
}

# Offers the values of a kind. $__gdn_before is the part of the word before the value, such as --file=.
__gdn_offer_kind() {
  case $1 in
    @*)
      __gdn_offer_lines "$(command gdn __complete "${1#@}" ${__gdn_line[@]+"${__gdn_line[@]}"} 2>/dev/null | tr '\t' ' ')"
      ;;
    =*)
      __gdn_values "${1#=}"
      __gdn_offer_lines "$REPLY"
      ;;
    ,*)
      local own=${__gdn_typed#"$__gdn_before"}
      if [[ $own == *,* ]]; then __gdn_before+=${own%,*},; fi
      __gdn_values "${1#,}"
      __gdn_offer_lines "$REPLY"
      ;;
    file) __gdn_offer_paths default ;;
    dir) __gdn_offer_paths dirnames ;;
    pairfile)
      if [[ $__gdn_typed == *=* ]]; then __gdn_offer_paths default; fi
      ;;
  esac
}

_gdn() {
  local IFS=$' \t\n' REPLY word flags last kind path='' wants='' ended='' place=0 i
  local __gdn_typed='' __gdn_before=''
  local -a __gdn_line __gdn_values_found __gdn_whats_found
  COMPREPLY=()

  # bash also splits words at =, : and @. Parts without a space between them are joined again.
  local rest=$COMP_LINE gap
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    gap=${rest%%[![:space:]]*}
    rest=${rest#"$gap"}
    rest=${rest#"$word"}
    last=${#__gdn_line[@]}
    if [[ $i -eq 0 ]]; then
      continue
    elif [[ $last -gt 0 && ! $gap ]]; then
      __gdn_line[last - 1]+=$word
    else
      __gdn_line+=("$word")
    fi
  done
  last=$((${#__gdn_line[@]} - 1))
  __gdn_typed=${__gdn_line[last]}
  unset '__gdn_line[last]'

  __gdn_flags_of gdn
  flags=$REPLY
  for ((i = 0; i < last; i++)); do
    word=${__gdn_line[i]}
    if [[ $wants ]]; then
      wants=''
    elif [[ $ended ]]; then
      place=$((place + 1))
    elif [[ $word == -- ]]; then
      ended=$((i + 1))
    elif [[ $word == -*=* ]]; then
      continue
    elif [[ $word == -* && $word != - ]]; then
      __gdn_takes "$flags" "$word"
      if [[ $REPLY != - ]]; then wants=$REPLY; fi
    elif [[ $path == help* ]]; then
      path+=" $word"
    else
      __gdn_bundles "${path:+$path }$word"
      if [[ $REPLY && $path != *' '* ]]; then
        path=${path:+$path }$word
        __gdn_flags_of "$path"
        flags=$REPLY
      elif [[ -z $path ]]; then
        path=$word
        if [[ $path == help ]]; then
          __gdn_flags_of help
          flags=$REPLY
        fi
      else
        place=$((place + 1))
      fi
    fi
  done

  __gdn_arguments "$path"
  kind=''
  for word in $REPLY; do
    kind=$word
    if [[ $place -eq 0 || $word == *+ ]]; then break; fi
    place=$((place - 1))
    kind=''
  done
  kind=${kind%+}

  if [[ $wants ]]; then
    __gdn_offer_kind "$wants"
  elif [[ $ended ]]; then
    if [[ $kind == command ]]; then
      if [[ $last -eq $ended ]]; then
        __gdn_offer_lines "$(compgen -c -- "$__gdn_typed")"
      else
        __gdn_offer_paths default
      fi
    else
      __gdn_offer_kind "$kind"
    fi
  elif [[ $__gdn_typed == --*=* ]]; then
    __gdn_takes "$flags" "${__gdn_typed%%=*}"
    __gdn_before=${__gdn_typed%%=*}=
    __gdn_offer_kind "$REPLY"
  elif [[ $__gdn_typed == -* ]]; then
    __gdn_offer_flags "$flags"
  else
    __gdn_words "$path"
    if [[ $path == 'help '* ]]; then __gdn_words "${path#help }"; fi
    __gdn_offer_lines "$REPLY"
    if [[ $kind != command ]]; then __gdn_offer_kind "$kind"; fi
    if [[ ${#__gdn_values_found[@]} -eq 0 && ($kind == '' || $kind == text) ]]; then __gdn_offer_flags "$flags"; fi
  fi

  # bash replaces only the text after the last = or :, so values don't repeat the text before. They repeat a leading @.
  local skip=${__gdn_typed%"${__gdn_typed##*[=:]}"}
  if [[ $skip && $COMP_WORDBREAKS != *"${skip: -1}"* ]]; then skip=''; fi
  local value what width=0 shown
  for value in ${__gdn_values_found[@]+"${__gdn_values_found[@]}"}; do
    if [[ ${#value} -gt $width ]]; then width=${#value}; fi
  done
  for ((i = 0; i < ${#__gdn_values_found[@]}; i++)); do
    value=${__gdn_values_found[i]#"$skip"}
    what=${__gdn_whats_found[i]}
    # Descriptions are added only if bash shows a list and inserts nothing.
    if [[ ${COMP_TYPE-} == 63 && $what && ${#__gdn_values_found[@]} -gt 1 ]]; then
      printf -v shown '%-*s  %s' "$width" "$value" "$what"
      COMPREPLY+=("${shown:0:${COLUMNS:-80}-1}")
    else
      COMPREPLY+=("$value")
    fi
  done
}

complete -F _gdn gdn
