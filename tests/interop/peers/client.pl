# client.pl http URL: asks for each feature, and prints a line "feature<TAB>what came" for each. Perl's client speaks 2026-07-28
# over HTTP, and lists no templates.
use Mojo::Base -strict, -signatures;
use utf8;
use open ':std', ':utf8';
use List::Util qw(first);
use MCP::Client;

$| = 1;
my $client = MCP::Client->new(url => $ARGV[1], capabilities => {elicitation => {}});
$client->ua->inactivity_timeout(15);
my @notified;
$client->on(notification => sub ($client, $message) { push @notified, $message });

# Of several servers as one the first with that name: the others are told apart by a prefix.
sub named ($items, $name) { return first { $_->{name} =~ /\Q$name\E$/ } @$items }
my $tools = $client->list_tools->{tools};

sub call ($tool, $args = {}, $options = {}) {
  my $result = $client->call_tool(named($tools, $tool)->{name}, $args, $options);
  return $result if ($result->{resultType} // '') eq 'input_required';
  return ($result->{isError} ? 'error: ' : '') . $result->{content}[0]{text};
}

sub counted ($method, $tool, $args, $meta) {
  @notified = ();
  my $request = $client->build_request('tools/call', {name => named($tools, $tool)->{name}, arguments => $args, _meta => $meta});
  $client->send_request($request);
  return scalar grep { $_->{method} eq $method } @notified;
}

say "version\t" . $client->protocol_version;
my @features = (
  echo  => sub { call('echo', {text => 'Grüße ✓'}) },
  large => sub { length call('echo', {text => 'x' x 300_000}) },
  fail  => sub { call('fail') },
  unknown => sub { eval { $client->call_tool('no-such-tool')->{isError} ? 'error' : 'no error' } // 'error' },
  progress => sub { counted('notifications/progress', 'steps', {count => 3}, {progressToken => 't'}) },
  log      => sub { counted('notifications/message',  'tell',  {}, {'io.modelcontextprotocol/logLevel' => 'info'}) },
  ask      => sub {
    my $asked = call('ask');
    return $asked unless ref $asked;
    my ($key) = keys %{$asked->{inputRequests}};
    call('ask', {}, {input_responses => {$key => {action => 'accept', content => {colour => 'blue'}}}, request_state => $asked->{requestState}});
  },
  resource => sub {
    my $uri = named($client->list_resources->{resources}, 'memo-one')->{uri};
    return $client->read_resource($uri)->{contents}[0]{text};
  },
  prompt => sub {
    my $name = named($client->list_prompts->{prompts}, 'greet')->{name};
    return $client->get_prompt($name, {name => 'Zoë'})->{messages}[0]{content}{text};
  },
  many => sub { scalar grep { call('echo', {text => "$_"}) eq "echo: $_" } 0 .. 19 },
);
while (my ($name, $feature) = splice @features, 0, 2) {
  my $value = eval { $feature->() } // "failed: $@";
  say "$name\t" . substr($value =~ s/\s*\n\s*/ /gr, 0, 300);
}
