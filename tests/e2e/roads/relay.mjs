// The process of a stdio server: what it plays is played in the process of the suite, behind the socket in ROADS_HUB.
import { connect } from 'node:net';

const hub = connect(process.env.ROADS_HUB);
hub.write(`${JSON.stringify({ server: process.argv[2], pid: process.pid, form: process.env.ROADS_FORM })}\n`);
process.stdin.pipe(hub);
hub.pipe(process.stdout);
hub.on('error', () => process.exit(3));
hub.on('end', () => process.exit(3)); // the suite lets the server die
hub.on('finish', () => process.exit(0)); // the end of stdin, and all was relayed
